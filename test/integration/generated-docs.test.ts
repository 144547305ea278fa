/** Documents against the database: those that are generated from it (`npm run docs:generate` writes them), and SQL in the others. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openConnection } from '../../src/database/connection.ts';
import { renderDocs } from '../support/render-docs.ts';
import { createTestDatabase } from '../support/test-database.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

test('data dictionary, dbt sources and diagram are those of the migrated database', async () => {
  const database = await createTestDatabase();
  const connection = openConnection({ url: database.url, applicationName: 'test', max: 1 });
  try {
    for (const [name, text] of Object.entries(await renderDocs(connection))) {
      if (process.env['WRITE_DOCS'] === '1') {
        mkdirSync(dirname(pathOf(name)), { recursive: true });
        writeFileSync(pathOf(name), text);
      }
      expect(readFileSync(pathOf(name), 'utf8'), `${name}: run npm run docs:generate`).toBe(text);
    }
  } finally {
    await connection.close();
    await database.drop();
  }
});

test.each(['docs/bi.md', 'docs/operations.md'])(
  'the statements of %s that read or clean up are those of this schema',
  async (name) => {
    const database = await createTestDatabase();
    const connection = openConnection({ url: database.url, applicationName: 'test', max: 1 });
    try {
      const blocks = [...readFileSync(pathOf(name), 'utf8').matchAll(/```sql\n([^`]*)```/g)].map(
        ([, sql = '']) => sql,
      );
      const statements = blocks
        .flatMap((block) => block.split(';\n'))
        .filter((statement) => /^(select|delete)\b/.test(statement));
      expect(statements).not.toEqual([]);
      for (const statement of statements) await connection.query(statement);
    } finally {
      await connection.close();
      await database.drop();
    }
  },
);
