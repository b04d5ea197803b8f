import { findProgram, installPackage } from './debian.js';

export interface MariadbBinaries {
  /** Path of `mariadbd`. */
  readonly server: string;
  /** Path of `mariadb-install-db`, which fills an empty data folder. */
  readonly installer: string;
}

/** The binaries of this machine, or `undefined` where one is missing. */
export function findMariadb(): MariadbBinaries | undefined {
  const server = findProgram('mariadbd');
  const installer = findProgram('mariadb-install-db');
  return server && installer ? { server, installer } : undefined;
}

/** Finds MariaDB, or installs Debian's package when it may. Throws an error that says what to do otherwise. */
export function provideMariadb(): MariadbBinaries {
  const found = findMariadb() ?? (installPackage('mariadb-server') ? findMariadb() : undefined);
  if (found) return found;
  throw new Error(
    'The tests need a MySQL or MariaDB server. Set LANEHEAD_TEST_MYSQL_URL=mysql://user:password@host:port/ to one ' +
      'they may create databases on, or install mariadb-server (as root on Debian they install it themselves).',
  );
}
