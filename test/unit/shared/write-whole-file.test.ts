import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeWholeFile } from '../../../src/shared/write-whole-file.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'safety-sync-file-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test('replaces what was there, and leaves nothing else', async () => {
  const file = join(directory, 'page.html');
  await writeFile(file, 'old');
  await writeWholeFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await readdir(directory)).toEqual(['page.html']);
});

test('its owner alone may read it, also where others could read the one before', async () => {
  const file = join(directory, 'page.html');
  await writeFile(file, 'old', { mode: 0o644 });
  await writeWholeFile(file, 'new');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('a reader of the old one goes on reading it', async () => {
  const file = join(directory, 'page.html');
  await writeFile(file, 'old');
  const { open } = await import('node:fs/promises');
  const reader = await open(file);
  await writeWholeFile(file, 'new');
  expect(await reader.readFile('utf8')).toBe('old');
  await reader.close();
});

test('writes through a link and keeps it', async () => {
  await writeFile(join(directory, 'real.html'), 'old');
  await symlink('real.html', join(directory, 'link.html'));
  await writeWholeFile(join(directory, 'link.html'), 'new');
  expect(await readFile(join(directory, 'real.html'), 'utf8')).toBe('new');
});

test('a device is written to, not replaced', async () => {
  await writeWholeFile('/dev/null', 'gone');
  expect(await readFile('/dev/null', 'utf8')).toBe('');
});

test.runIf(process.platform === 'linux')('a full disk is no mistake of the command', async () => {
  await expect(writeWholeFile('/dev/full', 'text')).rejects.toMatchObject({
    code: 'report_unwritable',
    message: 'cannot write /dev/full: the disk is full',
  });
});

test.each([
  ['a directory that is not there', 'missing/page.html', 'its directory does not exist; make it first'],
  ['a directory', 'folder', 'it is a directory; name a file in it'],
  ['a file taken for a directory', 'file/page.html', 'no directory; name another one'],
])('says what to do about %s', async (_what, name, advice) => {
  await mkdir(join(directory, 'folder'));
  await writeFile(join(directory, 'file'), '');
  const path = join(directory, name);
  await expect(writeWholeFile(path, 'x')).rejects.toMatchObject({
    code: 'usage_invalid',
    message: expect.stringContaining(`cannot write ${path}: `) as string,
  });
  await expect(writeWholeFile(path, 'x')).rejects.toThrow(advice);
  expect((await readdir(directory)).toSorted()).toEqual(['file', 'folder']);
});

test('says so where this user may not write', async () => {
  const isRoot = process.geteuid?.() === 0;
  // Root may write anywhere, so the test takes the rights of an ordinary user for a moment.
  await chmod(directory, isRoot ? 0o755 : 0o500);
  if (isRoot) process.seteuid?.('nobody');
  try {
    await expect(writeWholeFile(join(directory, 'page.html'), 'x')).rejects.toThrow(
      'this user may not write there',
    );
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

test.runIf(existsSync('/proc/self'))('a directory that takes no files is not called absent', async () => {
  await expect(writeWholeFile('/proc/page.html', 'page')).rejects.toThrow(
    'cannot write /proc/page.html: /proc refuses it (ENOENT); name another path',
  );
});
