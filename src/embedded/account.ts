import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { unavailable } from './process.ts';

const execFileAsync = promisify(execFile);

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The system account that runs PostgreSQL's programs, because they refuse root. */
export interface EmbeddedAccount {
  /** The account that must own the data; undefined: the account of this process. */
  readonly owner: Owner | undefined;
  readonly run: (command: string, args: readonly string[]) => Promise<string>;
  readonly postgresMajor: number;
}

interface EmbeddedAccountOptions {
  readonly postgres: string;
  /** The account must be able to access it. */
  readonly dataDir: string;
  /** An existing data directory keeps its owner. */
  readonly clusterDir: string;
  readonly libraryPath: string | undefined;
}

/**
 * Keeps one right of root, to enter any directory, for a data directory or checkout inside a directory of root. The secure
 * bit makes this right also effective in access(2), which initdb uses to find its programs.
 */
const KEEP_REACH = [
  '--securebits=+no_setuid_fixup',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
];

/** `postgres --version` shows whether binaries, libraries and data are accessible to the account, and the version. */
export async function chooseEmbeddedAccount(options: EmbeddedAccountOptions): Promise<EmbeddedAccount> {
  const { postgres, dataDir, clusterDir, libraryPath } = options;
  const owner = process.getuid?.() === 0 ? await chooseOwner(clusterDir) : undefined;
  const asOwner = owner && [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  const prefixes = asOwner === undefined ? [[]] : [[], ['setpriv', ...asOwner, ...KEEP_REACH, '--']];
  let reason = '';
  for (const prefix of prefixes) {
    const run = createRunner(prefix, owner, libraryPath);
    try {
      const script = '"$1" --version && cd "$2"';
      const output = await run('/bin/sh', ['-c', script, 'probe', postgres, dataDir]);
      const major = /\(PostgreSQL\) (\d+)/.exec(output)?.[1];
      if (major !== undefined) return { owner, run, postgresMajor: Number(major) };
      reason ||= `unexpected output: ${output}`;
    } catch (error) {
      reason ||= error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
      reason ||= String(error);
    }
  }
  const remedy =
    owner === undefined
      ? ''
      : ` (PostgreSQL refuses to run as root, and user ${owner.uid} must be able to enter every directory above ` +
        `${dataDir} and ${postgres}: chmod o+x them, or run as another user)`;
  throw unavailable(`The embedded PostgreSQL cannot run here: ${reason}${remedy}`);
}

function createRunner(
  prefix: readonly string[],
  owner: Owner | undefined,
  libraryPath: string | undefined,
): EmbeddedAccount['run'] {
  const options = {
    // Does not inherit this process's environment: it contains secrets, and the server outlives this process.
    env: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      LC_ALL: 'C',
      ...(libraryPath === undefined ? {} : { LD_LIBRARY_PATH: libraryPath, DYLD_LIBRARY_PATH: libraryPath }),
    },
    cwd: '/',
    // setpriv changes the account itself and needs root for that.
    ...(prefix.length === 0 ? owner : {}),
  };
  return async (command, args) => {
    const [first = command, ...rest] = [...prefix, command, ...args];
    return (await execFileAsync(first, rest, options)).stdout;
  };
}

async function chooseOwner(clusterDir: string): Promise<Owner> {
  const existing = await stat(clusterDir).catch(() => undefined);
  if (existing !== undefined && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid };
  const passwd = await readFile('/etc/passwd', 'utf8');
  for (const name of ['postgres', 'nobody']) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(passwd) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw unavailable(
    'PostgreSQL refuses to run as root and there is no account "postgres" or "nobody" to run it as',
  );
}
