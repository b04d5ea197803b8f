/** Orders semantic versions by their numbers; a pre-release comes before its release, pre-releases by text. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [parse(left), parse(right)];
  for (let i = 0; i < 3; i++) {
    const difference = a.numbers[i]! - b.numbers[i]!;
    if (difference !== 0) return Math.sign(difference);
  }
  if (a.pre === b.pre) return 0;
  if (a.pre === '') return 1;
  if (b.pre === '') return -1;
  return a.pre < b.pre ? -1 : 1;
}

function parse(version: string): { numbers: number[]; pre: string } {
  const [core = '', ...rest] = version.split('+', 1)[0]!.split('-');
  const numbers = core.split('.').map((part) => Number.parseInt(part, 10) || 0);
  while (numbers.length < 3) numbers.push(0);
  return { numbers, pre: rest.join('-') };
}
