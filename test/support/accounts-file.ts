import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '../../src/sandbox/index.ts';

export interface AccountsFile {
  readonly path: string;
  remove(): Promise<void>;
}

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

/** Writes an accounts file for one test. */
export async function writeAccountsFile(entries: readonly object[]): Promise<AccountsFile> {
  const folder = await mkdtemp(join(tmpdir(), 'safety-sync-accounts-'));
  const path = join(folder, 'accounts.json');
  await writeFile(path, JSON.stringify(entries));
  return { path, remove: () => rm(folder, { recursive: true }) };
}
