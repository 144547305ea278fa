/**
 * The migrations of this program, and its functions and views: one file each in `migrations`, which holds the only definition.
 * All are read when the process begins: a newer program may be installed over a worker that runs.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { PACKAGE_URL } from '../../version.ts';

const FOLDER = new URL('migrations/', PACKAGE_URL);

export const MIGRATION_FILES = readMigrationFiles({ migrationsFolder: fileURLToPath(FOLDER) });

export type Definition = ReturnType<typeof readFolder>[number];

function readFolder(kind: 'functions' | 'views') {
  const path = new URL(`${kind}/`, FOLDER);
  return readdirSync(path)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) => {
      const statements = readFileSync(new URL(file, path), 'utf8');
      return {
        name: file.slice(0, -'.sql'.length),
        /** People read it. A view of `safety_sync` is replaced with its definition, as a function is. */
        isView: kind === 'views' && !file.startsWith('safety_sync.'),
        /** `create or replace …` */
        statements,
        hash: createHash('sha256').update(statements).digest('hex'),
      };
    });
}

/** Sorts the definitions: each one is after those that it refers to as `safety.NAME`. */
function orderByUse(definitions: readonly Definition[]): Definition[] {
  const ordered = new Set<Definition>();
  const add = (one: Definition): void => {
    const named = new Set(one.statements.replace(/--.*/g, '').match(/(?<=\bsafety\.)\w+/g));
    for (const other of definitions) if (other !== one && named.has(other.name)) add(other);
    ordered.add(one);
  };
  for (const one of definitions) add(one);
  return [...ordered];
}

/** In the order of their use; what the program itself needs is before the views, which may wait for their readers. */
export const DEFINITIONS: readonly Definition[] = orderByUse(
  [...readFolder('functions'), ...readFolder('views')].toSorted(
    (one, other) => Number(one.isView) - Number(other.isView),
  ),
);
