import { type MariadbServer, startMariadb } from './mariadb-server.js';

/** A MariaDB that a test may kill and start again on its folder and port; not the one that the run shares. */
export class PrivateMariadb {
  readonly #first: MariadbServer;
  readonly #settings: readonly string[];
  #current: MariadbServer;

  private constructor(first: MariadbServer, settings: readonly string[]) {
    this.#first = first;
    this.#current = first;
    this.#settings = settings;
  }

  /** @param settings more arguments of `mariadbd` */
  static async start(settings: readonly string[] = []): Promise<PrivateMariadb> {
    return new PrivateMariadb(await startMariadb({ arguments: settings }), settings);
  }

  get url(): string {
    return this.#first.url;
  }

  get port(): number {
    return this.#first.port;
  }

  /** SIGKILL. */
  kill(): Promise<void> {
    return this.#current.kill();
  }

  /** After `kill`: recovers, and resolves when it accepts connections. */
  async restart(): Promise<void> {
    const { dataFolder, port } = this.#first;
    const before = this.#current;
    this.#current = await startMariadb({ dataFolder, port, arguments: this.#settings });
    if (before !== this.#first) await before.stop();
  }

  async close(): Promise<void> {
    await this.#current.stop();
    await this.#first.stop();
  }
}
