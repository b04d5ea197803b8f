import { readFileSync } from 'node:fs';
import { LaneheadError } from '../core/errors.js';
import { nearest } from './nearest.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A value with the name under which the user gave it. */
export interface Setting {
  /** `--port`, `LANEHEAD_PORT`. */
  readonly name: string;
  readonly text: string;
  readonly isFlag: boolean;
}

/** `invalid_configuration` with one line for each wrong setting. */
export class InvalidSettings extends LaneheadError {
  /** Something on the command line is wrong, not only in the environment. */
  readonly isUsage: boolean;

  constructor(problems: readonly string[], isUsage: boolean) {
    super('invalid_configuration', problems.join('\n'));
    this.isUsage = isUsage;
  }
}

const PREFIX = 'LANEHEAD_';
const withoutPrefix = (name: string): string => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name);
/** Read by this project's own tests, which start the command. */
const OF_THE_TESTS = /^LANEHEAD_(TEST_|MUTANT$)/;

/**
 * Reads flags and variables and collects everything that is wrong with them. No message repeats a value: what stands in
 * the wrong variable may be a secret. A variable that is set and empty is a mistake, not an absence.
 */
export class SettingsReader {
  readonly #environment: Environment;
  readonly #problems: string[] = [];
  readonly #known = new Set<string>();
  #isUsage = false;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Variables that were asked for so far. */
  get known(): ReadonlySet<string> {
    return this.#known;
  }

  /** The flag where it is given, else the variable, else nothing. */
  find(
    variable: string,
    flag?: { readonly name: string; readonly text: string | undefined },
  ): Setting | null {
    this.#known.add(variable);
    if (flag?.text !== undefined) return this.#filled({ name: flag.name, text: flag.text, isFlag: true });
    const text = this.#environment[variable];
    return text === undefined ? null : this.#filled({ name: variable, text, isFlag: false });
  }

  /** Like `find`; the value may also stand in the file that `<variable>_FILE` names. */
  findSecret(
    variable: string,
    flag?: { readonly name: string; readonly text: string | undefined },
  ): Setting | null {
    const direct = this.find(variable, flag);
    const file = this.find(`${variable}_FILE`);
    if (file === null || direct?.isFlag) return direct;
    if (this.#environment[variable] !== undefined) {
      this.refuse(file, `is set beside ${variable}; set one of them`);
      return null;
    }
    try {
      return this.#filled({ ...file, text: readFileSync(file.text, 'utf8').trimEnd() });
    } catch (error) {
      this.refuse(file, `the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
      return null;
    }
  }

  /** One setting under two names, each read by `read`. Two that mean different values are a mistake. */
  either<Value>(
    one: string,
    other: string,
    read: (setting: Setting | null) => Value | undefined,
  ): Value | undefined {
    const first = this.find(one);
    const [value, alias] = [read(first), read(this.find(other))];
    if (first !== null && value !== undefined && alias !== undefined && value !== alias) {
      this.refuse(first, `differs from ${other}, which is the same setting; set one of them`);
    }
    return value ?? alias;
  }

  integer(setting: Setting | null, least: number, most: number): number | undefined {
    if (setting === null) return undefined;
    const value = /^\d{1,15}$/.test(setting.text) ? Number(setting.text) : Number.NaN;
    if (value >= least && value <= most) return value;
    this.refuse(setting, `must be a whole number from ${least} to ${most}`);
    return undefined;
  }

  oneOf<Name extends string>(setting: Setting | null, names: readonly Name[]): Name | undefined {
    if (setting === null) return undefined;
    const known = names.find((name) => name === setting.text);
    if (known === undefined) this.refuse(setting, `must be one of ${names.join(', ')}`);
    return known;
  }

  /** `true` or `1`, `false` or `0`. */
  yesOrNo(setting: Setting | null): boolean | undefined {
    const word = this.oneOf(setting, ['true', 'false', '1', '0']);
    return word === undefined ? undefined : word === 'true' || word === '1';
  }

  /** The members of a comma list; `accepts` judges each. */
  list(setting: Setting | null, accepts: (member: string) => boolean, expected: string): readonly string[] {
    if (setting === null) return [];
    const members = setting.text.split(',').map((member) => member.trim());
    const wrong = members.flatMap((member, place) => (accepts(member) ? [] : [place + 1]));
    if (wrong.length > 0) this.refuse(setting, `entry ${wrong.join(', ')} is not ${expected}`);
    return [...new Set(members)];
  }

  refuse(setting: Pick<Setting, 'name' | 'isFlag'>, problem: string): void {
    this.#isUsage ||= setting.isFlag;
    this.#problems.push(`${setting.name}: ${problem}`);
  }

  /** A variable of this product that nobody asked for is a misspelt one, and would be ignored in silence. */
  refuseUnknown(): void {
    const unknown = Object.keys(this.#environment).filter(
      (name) => name.startsWith(PREFIX) && !this.#known.has(name) && !OF_THE_TESTS.test(name),
    );
    for (const name of unknown.sort()) {
      const meant = nearest(withoutPrefix(name), this.#known, withoutPrefix);
      const hint =
        meant === null ? `a pack's own variables must not begin with ${PREFIX}` : `did you mean ${meant}?`;
      this.refuse({ name, isFlag: false }, `is not a setting; ${hint}`);
    }
  }

  /** @throws InvalidSettings when anything was refused */
  settle(): void {
    if (this.#problems.length > 0) throw new InvalidSettings(this.#problems, this.#isUsage);
  }

  #filled(setting: Setting): Setting | null {
    if (setting.text.trim() !== '') return { ...setting, text: setting.text.trim() };
    this.refuse(setting, 'is empty; leave it out or give it a value');
    return null;
  }
}
