/** The built program as its next release: a separate folder with another version and changed SQL. */
import { execFile } from 'node:child_process';
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTestFolder } from './test-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const NEXT_VERSION = '99.0.0';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function createNextRelease() {
  const folder = await makeTestFolder('safety-sync-next-');
  for (const part of ['dist', 'migrations', 'package.json'])
    await cp(join(ROOT, part), join(folder, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const edit = async (path: string, change: (text: string) => string): Promise<void> => {
    await writeFile(join(folder, path), change(await readFile(join(folder, path), 'utf8')));
  };
  await edit('package.json', (text) => text.replace(/"version": "[^"]+"/, `"version": "${NEXT_VERSION}"`));
  return {
    addMigration: async (sql: string) => {
      const tag = '0001_next';
      await writeFile(join(folder, 'migrations', `${tag}.sql`), sql);
      await edit('migrations/meta/_journal.json', (text) => {
        const journal = JSON.parse(text) as { entries: { idx: number; when: number }[] };
        const when = (journal.entries.at(-1)?.when ?? 0) + 1;
        return JSON.stringify({
          ...journal,
          entries: [
            ...journal.entries,
            { idx: journal.entries.length, version: '7', when, tag, breakpoints: true },
          ],
        });
      });
    },
    /** Replaces a text in a view's file; the text must occur once. */
    editView: (name: string, search: string, replace: string) =>
      edit(`migrations/views/${name}.sql`, (text) => {
        if (text.split(search).length !== 2)
          throw new RangeError(`${name}.sql does not hold once: ${search}`);
        return text.replace(search, replace);
      }),
    addView: (name: string, sql: string) =>
      writeFile(join(folder, 'migrations', 'views', `${name}.sql`), sql),
    run: (
      args: readonly string[],
      env: Readonly<Record<string, string>>,
      onStderr: (text: string) => void = () => undefined,
    ) =>
      new Promise<Ended>((resolve) => {
        const child = execFile(
          process.execPath,
          [join(folder, 'dist', 'main.js'), ...args],
          { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder, ...env } },
          (error, stdout, stderr) =>
            resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
        );
        child.stderr?.on('data', onStderr);
      }),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
