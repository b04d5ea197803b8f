/** npm run bench -- admission|drain|shed|overload|foreground|classes [--engine sqlite|mysql] [--json] … ; see NOTES.md. */
import { benchAdmission } from './admission.js';
import { benchClasses } from './classes.js';
import { type BenchEngine, openEngine } from './databases.js';
import { benchDrain } from './drain.js';
import type { Report } from './figures.js';
import { benchForeground } from './foreground.js';
import { type BenchName, type BenchOptions, parseOptions, USAGE } from './options.js';
import { benchOverload } from './overload.js';
import { benchShed } from './shed.js';

type Bench = (options: BenchOptions, engine: BenchEngine, say: (line: string) => void) => Promise<Report>;

const BENCHES: Readonly<Record<BenchName, Bench>> = {
  admission: benchAdmission,
  drain: benchDrain,
  shed: benchShed,
  overload: benchOverload,
  foreground: benchForeground,
  classes: benchClasses,
};

async function run(options: BenchOptions): Promise<Report> {
  const say = options.json ? () => undefined : (line: string) => console.log(line);
  const engine = await openEngine(options.engine);
  try {
    return await BENCHES[options.bench](options, engine, say);
  } finally {
    await engine.stop();
  }
}

function print(report: Report, json: boolean): void {
  if (json) {
    console.log(JSON.stringify(report));
    return;
  }
  const { perSecond, p50Ms, p99Ms } = report.median;
  console.log(
    `${report.bench} on ${report.engine}: ${perSecond}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms (median)`,
  );
  for (const [name, peer] of Object.entries(report.peers)) {
    console.log(`  ${name}: ${peer.perSecond}/s; ratio ${report.ratio}`);
  }
  console.log(`  missing ${report.missing}, order violations ${report.orderViolations}`);
}

async function main(): Promise<void> {
  let options: BenchOptions;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  const report = await run(options);
  print(report, options.json);
  process.exitCode = report.missing === 0 && report.orderViolations === 0 ? 0 : 1;
}

await main();
