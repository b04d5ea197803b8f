/** What was injected and seen, by name. */
export type Figures = Record<string, number>;

/** Figures that are the worst of their kind; all others add up. */
const isWorst = (name: string): boolean => name.includes('slowest');

/** The numbers of a report, nested ones under dotted names. */
export function figuresOf(report: object, prefix = ''): Figures {
  const figures: Figures = {};
  for (const [name, value] of Object.entries(report)) {
    if (typeof value === 'number') figures[prefix + name] = value;
    else if (value !== null && typeof value === 'object' && !Array.isArray(value))
      Object.assign(figures, figuresOf(value, `${prefix}${name}.`));
  }
  return figures;
}

export function add(sum: Figures, more: Figures): void {
  for (const [name, value] of Object.entries(more)) {
    const known = sum[name] ?? 0;
    sum[name] = isWorst(name) ? Math.max(known, value) : known + value;
  }
}
