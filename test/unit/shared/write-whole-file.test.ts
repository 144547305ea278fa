import { existsSync } from 'node:fs';
import { chmod, mkdir, open, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { writeWholeFile } from '../../../src/shared/write-whole-file.ts';
import { folderForTest } from '../../support/lifetime.ts';

let directory: string;
beforeEach(async () => {
  directory = await folderForTest('safety-sync-file-');
});

test('a written file replaces the old one without other files, for its owner alone, and who has the old one open reads it', async () => {
  const file = join(directory, 'page.html');
  await writeFile(file, 'old', { mode: 0o644 });
  const reader = await open(file);
  await writeWholeFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(directory)).toEqual(['page.html']);
  expect(await reader.readFile('utf8')).toBe('old');
  await reader.close();
});

test('the rest of a process with the same id, as in a container, is not in the way', async () => {
  const file = join(directory, 'page.html');
  const rest = `${file}.${process.pid}.tmp`;
  await writeFile(rest, 'half');
  await writeWholeFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await readFile(rest, 'utf8')).toBe('half');
});

test('a file behind a link is replaced, and the link remains', async () => {
  await writeFile(join(directory, 'real.html'), 'old');
  await symlink('real.html', join(directory, 'link.html'));
  await writeWholeFile(join(directory, 'link.html'), 'new');
  expect(await readFile(join(directory, 'real.html'), 'utf8')).toBe('new');
});

test('a device receives the text and is not replaced', async () => {
  await writeWholeFile('/dev/null', 'gone');
  expect(await readFile('/dev/null', 'utf8')).toBe('');
});

test.runIf(process.platform === 'linux')('a full disk is report_unwritable, not a usage error', async () => {
  await expect(writeWholeFile('/dev/full', 'text')).rejects.toMatchObject({
    code: 'report_unwritable',
    message: 'cannot write /dev/full: the disk is full',
  });
});

test.each([
  ['a directory that is not there', 'missing/page.html', 'its directory does not exist; make it first'],
  ['a directory', 'folder', 'it is a directory; name a file in it'],
  ['a file taken for a directory', 'file/page.html', 'no directory; name another one'],
])('the error for %s contains advice', async (_what, name, advice) => {
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

test('the error for a directory without write permission names the permission', async () => {
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

test.runIf(existsSync('/proc/self'))(
  'the error for a directory that accepts no files does not call it absent',
  async () => {
    await expect(writeWholeFile('/proc/page.html', 'page')).rejects.toThrow(
      'cannot write /proc/page.html: /proc refuses it (ENOENT); name another path',
    );
  },
);
