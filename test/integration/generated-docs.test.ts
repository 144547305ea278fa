/** Documents against the database: those that are generated from it, and SQL in the others. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { holdGenerated } from '../support/generated.ts';
import { forEachTest } from '../support/lifetime.ts';
import { renderSchemaDocs } from '../support/render-schema.ts';
import { openTestDatabase } from '../support/test-database.ts';

const connection = forEachTest(() => openTestDatabase());
const pathOf = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

test('data dictionary, dbt sources and diagram are those of the migrated database', async () => {
  await holdGenerated(await renderSchemaDocs(connection));
});

test.each(['docs/bi.md', 'docs/operations.md'])(
  'the statements of %s that read or clean up are those of this schema',
  async (name) => {
    const blocks = [...readFileSync(pathOf(name), 'utf8').matchAll(/```sql\n([^`]*)```/g)].map(
      ([, sql = '']) => sql,
    );
    const statements = blocks
      .flatMap((block) => block.split(';\n'))
      .filter((statement) => /^(select|delete)\b/.test(statement));
    expect(statements).not.toEqual([]);
    for (const statement of statements) await connection.query(statement);
  },
);
