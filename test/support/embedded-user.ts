import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { BINARY } from './built-cli.ts';

/** Another process that uses the embedded server. */
interface EmbeddedUser {
  readonly url: string;
  readonly joined: boolean;
  release(): Promise<void>;
  /** Sends the signal to its process group, as a terminal does; resolves when the process is gone. */
  kill(signal: 'SIGKILL' | 'SIGINT'): Promise<void>;
}

/** Prints one line of JSON when it has the server, releases it when its standard input ends, prints `released`. */
const USER = `
  import { once } from 'node:events';
  const { acquireEmbeddedServer } = await import(process.argv[1]);
  const server = await acquireEmbeddedServer({ dataDir: process.argv[2], database: 'warehouse' });
  process.stdout.write(JSON.stringify({ url: server.url, joined: server.joined }) + '\\n');
  process.stdin.resume();
  await once(process.stdin, 'end');
  await server.release();
  process.stdout.write('released\\n');
`;

export async function startEmbeddedUser(dataDir: string): Promise<EmbeddedUser> {
  // As it was built: to compile the sources in each process would take longer than what is tested.
  const { href } = new URL('embedded/server.js', pathToFileURL(BINARY));
  const child = spawn(process.execPath, ['--input-type=module', '--eval', USER, href, dataDir], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done === true) throw new Error('the process ended without a server');
  const { url, joined } = JSON.parse(first.value) as { url: string; joined: boolean };
  return {
    url,
    joined,
    release: async () => {
      child.stdin.end();
      const last = await lines.next();
      await exited;
      if (last.value !== 'released') throw new Error('the process ended without releasing');
    },
    kill: async (signal) => {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
      await exited;
    },
  };
}
