/** Prometheus' text format, read back. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly type: string;
  readonly help: string;
  /** Under the name of the family, the suffixes of a histogram taken off. */
  readonly samples: readonly Sample[];
}

export type Exposition = ReadonlyMap<string, Family>;

export function parseExposition(text: string): Exposition {
  const families = new Map<string, { type: string; help: string; samples: Sample[] }>();
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, kind, about, rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (about !== undefined) {
      const family = families.get(about) ?? { type: '', help: '', samples: [] };
      families.set(about, { ...family, [kind === 'HELP' ? 'help' : 'type']: rest });
      continue;
    }
    const [, name = '', labels = '', value = ''] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    const base = name.replace(/_(bucket|sum|count)$/, '');
    const family =
      families.get(name) ?? (families.get(base)?.type === 'histogram' ? families.get(base) : undefined);
    if (family === undefined) throw new Error(`a line of no metric: ${line}`);
    const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [
      key!,
      text!,
    ]);
    family.samples.push({ labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return families;
}

/** The sum of the samples that have these labels. */
export function sumOf(
  exposition: Exposition,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const samples = exposition.get(name)?.samples ?? [];
  return samples
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
