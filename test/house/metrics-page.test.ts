import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FREE_LABELS, LABEL_WORDS, wordsOf } from '../../src/metrics/label-words.js';
import { METRICS, type Metric } from '../../src/metrics/metric-list.js';
import { ROOT, sourceText } from './sources.js';

const metrics: Readonly<Record<string, Metric>> = METRICS;

/** `npm run metrics` writes the page anew; otherwise it is compared. */
const update = process.env.LANEHEAD_UPDATE_METRICS === '1';

const HEAD = `# Metrics

What \`/metrics\` on the admin listener answers. This page is written from \`src/metrics/metric-list.ts\` (\`npm run metrics\`).

Labels are what an operator configured (\`namespace\`, \`pack\`, \`route\`) or one of a closed set of words, listed below. No key, no id and nothing a
sender wrote is a label. Histograms have no \`namespace\`, which would multiply their buckets. Gauges of the queue are read from the
database at the scrape, bounded by the processing budget and not by the backlog; all processes of one database report the same.

`;

function page(): string {
  const rows = Object.entries(metrics).map(([name, { type, labels, only, help }]) => {
    const names = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${names} | ${help}${only ? ` (${WHERE[only]})` : ''} |`;
  });
  return `${HEAD}| Name | Type | Labels | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n\n${words()}`;
}

/** A row for each label and set of words, with the metrics that have it. */
function words(): string {
  const rows = new Map<string, string[]>();
  for (const [name, { labels }] of Object.entries(metrics)) {
    for (const label of labels) {
      const closed = wordsOf(name, label);
      if (closed === null) continue;
      const row = `| \`${label}\` | ${closed.map((word) => `\`${word}\``).join(', ')} |`;
      rows.set(row, [...(rows.get(row) ?? []), `\`${name}\``]);
    }
  }
  const lines = [...rows].map(([row, names]) => `${row} ${names.join(', ')} |`);
  return `${WORDS_HEAD}| Label | Words | Of |\n|---|---|---|\n${lines.join('\n')}\n`;
}

const WORDS_HEAD = `## The words of the labels

\`decision\` of a request that was refused is a code of [errors](errors.md). What \`shape\`, \`scope\`, \`probe\` and the decisions of the
claim limiter mean is said in [observability](observability.md#words).

`;

const WHERE = {
  sqlite: 'on SQLite',
  mysql: 'on MySQL, MariaDB and TiDB',
  'stage timing': 'with stage timing',
};

describe('the list of metrics', () => {
  test('is what docs/metrics.md says', () => {
    const file = join(ROOT, 'docs/metrics.md');
    if (update) writeFileSync(file, page());
    expect(readFileSync(file, 'utf8')).toBe(page());
  });

  test('[MET-5] follows the conventions, and labels nothing that a sender could widen', () => {
    for (const [name, { type, labels, buckets }] of Object.entries(metrics)) {
      expect(name).toMatch(/^(lanehead|process|nodejs)_[a-z0-9_]+$/);
      expect({ name, isTotal: name.endsWith('_total') }).toEqual({ name, isTotal: type === 'counter' });
      const free = labels.filter((label) => wordsOf(name, label) === null);
      expect({ name, unknown: free.filter((label) => !FREE_LABELS.some((one) => one === label)) }).toEqual({
        name,
        unknown: [],
      });
      expect({ name, hasBuckets: buckets !== undefined }).toEqual({ name, hasBuckets: type === 'histogram' });
      expect(name).not.toMatch(/_(ms|milliseconds|percent|kb|mb)(_|$)/);
      if (type === 'histogram') expect(labels).not.toContain('namespace');
    }
    for (const [name, closed] of Object.entries(LABEL_WORDS))
      expect(metrics[name]!.labels).toEqual(expect.arrayContaining(Object.keys(closed)));
  });
});

/** What Prometheus adds by itself, and what a dashboard knows before a scrape. */
const FOREIGN_LABELS = ['instance', 'le'];

/** Everything that is wrong about an expression: metrics that do not exist, labels that they do not have. */
function problemsOf(expression: string): string[] {
  const used = [...expression.matchAll(/\b((?:lanehead|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)];
  if (used.length === 0) return [`no metric in ${expression}`];
  const families = used.map(([, name = '', selector = '']) => ({ name, metric: metricOf(name), selector }));
  const unknown = families
    .filter(({ metric }) => metric === undefined)
    .map(({ name }) => `no metric ${name}`);
  const selected = families.flatMap(({ name, metric, selector }) =>
    [...selector.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)]
      .filter(([, label]) => !hasLabel(metric, label!))
      .map(([, label]) => `${name} has no label ${label}`),
  );
  return [...unknown, ...selected, ...expression.split(SET_OPERATOR).flatMap(groupingProblems)];
}

/** What is on one side of it need not have the labels of the other. */
const SET_OPERATOR = /\b(?:and|or|unless)\b/;

function groupingProblems(part: string): string[] {
  const families = [...part.matchAll(/\b((?:lanehead|process|nodejs)_[a-z0-9_]+)/g)].map(([name]) =>
    metricOf(name),
  );
  return [...part.matchAll(/\b(?:by|without|on)\s*\(([^)]*)\)/g)]
    .flatMap(([, list]) => list!.split(','))
    .map((label) => label.trim())
    .filter((label) => !families.every((metric) => hasLabel(metric, label)))
    .map((label) => `not every metric of ${part} has the label ${label}`);
}

const hasLabel = (metric: Metric | undefined, label: string): boolean =>
  FOREIGN_LABELS.includes(label) || (metric?.labels.includes(label) ?? false);

function metricOf(name: string): Metric | undefined {
  const family = metrics[name.replace(/_(bucket|sum|count)$/, '')];
  return metrics[name] ?? (family?.type === 'histogram' ? family : undefined);
}

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Labels that a text shows are those its expression leaves. */
function shownLabels(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1]!);
}

describe('examples/observability', () => {
  const dashboard = JSON.parse(sourceText('examples/observability/dashboard.json')) as {
    readonly panels: readonly Panel[];
    readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
  };
  const alerts = parse(sourceText('examples/observability/alerts.yaml')) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  };

  test('the dashboard asks for metrics and labels of the list alone, and shows what it groups by', () => {
    const targets = dashboard.panels.flatMap(({ targets }) => targets);
    expect(targets.length).toBeGreaterThan(20);
    expect(targets.flatMap(({ expr }) => problemsOf(expr))).toEqual([]);
    for (const { expr, legendFormat } of targets) {
      for (const label of shownLabels(legendFormat, /\{\{(\w+)\}\}/g))
        expect({ expr, shows: expr.includes(label) || label === 'instance' }).toEqual({ expr, shows: true });
    }
    const queries = dashboard.templating.list.filter(({ query }) => query.startsWith('label_values'));
    for (const { query } of queries) {
      const [, metric = '', label = ''] = /^label_values\((\w+)(?:\{.*\})?, (\w+)\)$/.exec(query) ?? [];
      expect(metricOf(metric)?.labels).toContain(label);
    }
  });

  test('the alert rules do too, and each says how bad it is and what to do', () => {
    const rules = alerts.groups.flatMap((group) => group.rules);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    expect(rules.flatMap(({ expr }) => problemsOf(expr))).toEqual([]);
    for (const { alert, expr, labels, annotations } of rules) {
      expect(['warning', 'critical'], alert).toContain(labels.severity);
      expect(Object.keys(annotations).sort(), alert).toEqual(['description', 'summary']);
      for (const label of shownLabels(Object.values(annotations).join(' '), /\$labels\.(\w+)/g))
        expect({ alert, label, known: expr.includes(label) || label === 'instance' }).toMatchObject({
          known: true,
        });
    }
  });

  test('the check finds what is wrong', () => {
    expect(problemsOf('rate(lanehead_no_such_total[5m])')).toEqual(['no metric lanehead_no_such_total']);
    expect(problemsOf('lanehead_held_leases{pack="x"}')).toEqual(['lanehead_held_leases has no label pack']);
    expect(problemsOf('sum by (route) (lanehead_processing_rows)')).toHaveLength(1);
    expect(
      problemsOf('sum by (pack) (lanehead_processing_rows) or sum by (route) (lanehead_pack_active)'),
    ).toHaveLength(1);
    expect(problemsOf('up == 0')).toHaveLength(1);
  });

  test('the scrape configuration is YAML that loads the rules', () => {
    const prometheus = parse(sourceText('examples/observability/prometheus.yaml')) as {
      rule_files: string[];
    };
    expect(prometheus.rule_files).toEqual(['alerts.yaml']);
  });

  test('docs/observability.md names metrics of the list alone', () => {
    const named = [
      ...sourceText('docs/observability.md').matchAll(/`((?:lanehead|nodejs|process)_[a-z0-9_]+)/g),
    ];
    expect(named.map((match) => match[1]!).filter((name) => metricOf(name) === undefined)).toEqual([]);
  });
});
