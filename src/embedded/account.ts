import { execFile, spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { SafetySyncError } from '../shared/errors.ts';
import { unavailable } from './process.ts';

const execFileAsync = promisify(execFile);

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The system account that runs PostgreSQL's programs, because they refuse root. */
export type EmbeddedAccount = Runner & { readonly postgresMajor: number };

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

export async function chooseEmbeddedAccount(options: EmbeddedAccountOptions): Promise<EmbeddedAccount> {
  const owner = process.getuid?.() === 0 ? await chooseOwner(options.clusterDir) : undefined;
  const asIs = await probe(createAccount([], owner, options.libraryPath), options);
  if (typeof asIs === 'object') return asIs;
  if (owner === undefined) throw unusable(asIs, options);
  const prefix = [
    'setpriv',
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    '--clear-groups',
    ...KEEP_REACH,
    '--',
  ];
  const reaching = await probe(createAccount(prefix, owner, options.libraryPath), options);
  if (typeof reaching === 'object') return reaching;
  throw unusable(asIs, options, owner.uid);
}

type Runner = ReturnType<typeof createAccount>;

function createAccount(prefix: readonly string[], owner: Owner | undefined, libraryPath: string | undefined) {
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
  const split = (command: string, args: readonly string[]): [string, string[]] => {
    const [first = command, ...rest] = [...prefix, command, ...args];
    return [first, rest];
  };
  return {
    /** The account that must own the data; undefined: the account of this process. */
    owner,
    run: async (command: string, args: readonly string[]) =>
      (await execFileAsync(...split(command, args), options)).stdout,
    /** Starts a new session, so that Ctrl-C in the starting terminal does not stop the server. */
    spawnDetached: (command: string, args: readonly string[], logFd: number) =>
      spawn(...split(command, args), { ...options, detached: true, stdio: ['ignore', logFd, logFd] }),
  };
}

/**
 * Runs `postgres --version` as the account: this shows whether binaries, libraries and data are accessible, and the version.
 */
async function probe(runner: Runner, options: EmbeddedAccountOptions): Promise<EmbeddedAccount | string> {
  try {
    const script = '"$1" --version && cd "$2"';
    const output = await runner.run('/bin/sh', ['-c', script, 'probe', options.postgres, options.dataDir]);
    const major = /\(PostgreSQL\) (\d+)/.exec(output)?.[1];
    return major === undefined ? `unexpected output: ${output}` : { ...runner, postgresMajor: Number(major) };
  } catch (error) {
    return error instanceof Error && 'stderr' in error && error.stderr !== ''
      ? String(error.stderr).trim()
      : String(error);
  }
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

function unusable(reason: string, options: EmbeddedAccountOptions, uid?: number): SafetySyncError {
  const remedy =
    uid === undefined
      ? ''
      : ` (PostgreSQL refuses to run as root, and user ${uid} must be able to enter every directory above ` +
        `${options.dataDir} and ${options.postgres}: chmod o+x them, or run as another user)`;
  return unavailable(`The embedded PostgreSQL cannot run here: ${reason}${remedy}`);
}
