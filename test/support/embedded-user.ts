import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Another process that uses the embedded server. */
export interface EmbeddedUser {
  readonly url: string;
  readonly joined: boolean;
  release(): Promise<void>;
  /** Sends the signal to its process group, as a terminal does; resolves when the process is gone. */
  kill(signal: 'SIGKILL' | 'SIGINT'): Promise<void>;
}

export async function startEmbeddedUser(dataDir: string): Promise<EmbeddedUser> {
  const script = fileURLToPath(new URL('embedded-user-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, dataDir], {
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
