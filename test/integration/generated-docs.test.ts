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

test('the data dictionary, the dbt sources and the diagram match the migrated database', async () => {
  await holdGenerated(await renderSchemaDocs(connection));
});

test.each(['docs/bi.md', 'docs/connect.md'])(
  'every select and delete statement of %s can be run in the migrated schema',
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
