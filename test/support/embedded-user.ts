import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build, type BuildResult } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Prints one line of JSON when the server is available, releases it when standard input ends, and prints `released`. */
const USER = `
  import { once } from 'node:events';
  import { acquireEmbeddedServer } from './src/embedded/server.ts';
  const server = await acquireEmbeddedServer({ dataDir: process.argv[1], database: 'warehouse' });
  process.stdout.write(JSON.stringify({ url: server.url, joined: server.joined }) + '\\n');
  process.stdin.resume();
  await once(process.stdin, 'end');
  await server.release();
  process.stdout.write('released\\n');
`;

/** Bundled once, because compiling the sources in each process would take longer than the test. */
async function bundleUser(): Promise<string> {
  bundled ??= build({
    stdin: { contents: USER, resolveDir: ROOT },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    minify: true,
    write: false,
  });
  return (await bundled).outputFiles[0]?.text ?? '';
}
let bundled: Promise<BuildResult<{ write: false }>> | undefined;

/** Another process that uses the embedded server. */
export async function startEmbeddedUser(dataDir: string) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', await bundleUser(), dataDir], {
    // The directory from which packages are resolved.
    cwd: ROOT,
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
    /** Sends a signal to its process group, as a terminal does; resolves when the process has ended. */
    kill: async (signal: 'SIGKILL' | 'SIGINT') => {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
      await exited;
    },
  };
}
