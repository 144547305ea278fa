import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { folderForTest } from './lifetime.ts';

/** The service settings of an accounts file entry for a sandbox. */
export function entryFor(name: string, sandbox: Sandbox, more: Readonly<Record<string, unknown>> = {}) {
  return {
    name,
    base_url: sandbox.url,
    token: sandbox.token,
    equipment_types: sandbox.equipmentTypes,
    ...more,
  };
}

/** Writes an accounts file for the present test; returns its path. */
export async function writeAccountsFile(entries: readonly object[]): Promise<string> {
  const path = join(await folderForTest('safety-sync-accounts-'), 'accounts.json');
  await writeFile(path, JSON.stringify(entries));
  return path;
}
