import { mkdir, open, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
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
  await symlink('page.html', join(directory, 'link.html'));
  const reader = await open(file);
  await writeWholeFile(join(directory, 'link.html'), 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readdir(directory)).toSorted()).toEqual(['link.html', 'page.html']);
  expect(await reader.readFile('utf8')).toBe('old');
  await reader.close();
});

test('a device receives the text and is not replaced; a full disk is report_unwritable', async () => {
  await writeWholeFile('/dev/null', 'gone');
  await expect(writeWholeFile('/dev/full', 'text')).rejects.toMatchObject({ code: 'report_unwritable' });
});

test.each(['missing/page.html', 'folder', 'file/page.html'])(
  '%s, which cannot be written, is an error of usage that leaves nothing behind',
  async (name) => {
    await mkdir(join(directory, 'folder'));
    await writeFile(join(directory, 'file'), '');
    await expect(writeWholeFile(join(directory, name), 'x')).rejects.toMatchObject({ code: 'usage_invalid' });
    expect((await readdir(directory)).toSorted()).toEqual(['file', 'folder']);
  },
);
