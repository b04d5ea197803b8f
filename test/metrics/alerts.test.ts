import { describe, expect, test } from 'vitest';
import { sourceText } from '../house/sources.js';
import { type Exposition, sumOf } from '../support/exposition.js';
import { delivery, openSystem } from '../support/in-thread-system.js';

type Labels = Readonly<Record<string, string>>;

/** What the alert rules take an increase of. */
function countedByAlerts(): { readonly name: string; readonly labels: Labels }[] {
  const rules = sourceText('examples/observability/alerts.yaml');
  return [...rules.matchAll(/increase\((\w+)(?:\{(.*?)\})?\[/g)].map(([, name = '', selector = '']) => ({
    name,
    labels: Object.fromEntries(
      [...selector.matchAll(/(\w+)="(\w+)"/g)].map(([, label, value]) => [label, value]),
    ),
  }));
}

/** The series of a metric whose labels are these, as text. */
function seriesOf(exposition: Exposition, name: string, labels: Labels): string[] {
  const { samples } = exposition.get(name)!;
  return samples
    .map((sample) => sample.labels)
    .filter((has) => Object.entries(labels).every(([label, value]) => has[label] === value))
    .map((has) => JSON.stringify(Object.entries(has).sort()));
}

/** An increase of a series that is born at 1 is 0: it would stay silent the first time. */
describe('[MET-1, MET-3] what an alert takes an increase of', () => {
  test('is there at zero before it first happens', async () => {
    const system = await openSystem({
      route: {
        retry: { attempts: 1 },
        materialize: (receipt) => {
          const { source, does } = receipt.json() as { source: string; does?: string };
          if (does === 'break') throw new Error('nobody expected this');
          return { deliveries: [{ key: source, events: [{ type: 'push', sourceKey: source }] }] };
        },
        flow: (event, ctx) => {
          if ((event.json() as { does?: string }).does === 'dead') ctx.dead('no such account');
          throw new Error('the provider said no');
        },
      },
    });
    const before = await system.scrape();
    for (const does of ['break', 'dead', 'fail']) await system.handle(delivery(does, { does }));
    await system.untilIdle();
    const after = await system.scrape();
    const counted = countedByAlerts();
    expect(counted.length).toBeGreaterThan(5);
    for (const { name, labels } of counted) {
      const atFirst = seriesOf(before, name, labels);
      expect({ name, isThere: atFirst.length > 0 }).toEqual({ name, isThere: true });
      expect({ name, total: sumOf(before, name, labels) }).toEqual({ name, total: 0 });
      expect({ name, series: seriesOf(after, name, labels) }).toEqual({ name, series: atFirst });
    }
    expect(sumOf(after, 'lanehead_work_finished_total', { state: 'dead' })).toBe(2);
    expect(sumOf(after, 'lanehead_admission_requests_total', { decision: 'quarantined' })).toBe(1);
  });
});
