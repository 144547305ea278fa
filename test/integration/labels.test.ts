/** Names for ids as people give them: coverage, template, import, through the verbs. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'csv-parse/sync';
import { NAMING_LISTS } from '../../src/engine/streams/optional-methods.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forAllTests } from '../support/lifetime.ts';

const fixture = forAllTests(() => createCliFixture());
beforeAll(async () => {
  fixture.sandbox.readings.notOffered = NAMING_LISTS;
  expect((await fixture.run(['sync'])).code).toBe(0);
});
afterEach(() => fixture.query('delete from safety.labels'));

const fileOf = (name: string) => join(fixture.cli.directory, name);
const run = (...args: string[]) => fixture.run(['labels', ...args]);

async function importText(text: string, ...args: string[]) {
  await writeFile(fileOf('labels.csv'), text);
  return await run('import', fileOf('labels.csv'), ...args);
}

interface KindCoverage {
  readonly kind: string;
  readonly ids: number;
  readonly labelled: number;
  readonly unlabelled: readonly { readonly id: string; readonly seen: number }[];
}

async function coverage(): Promise<readonly KindCoverage[]> {
  return (JSON.parse((await run('--json')).stdout) as { labels: KindCoverage[] }).labels;
}

async function template(): Promise<Record<string, string>[]> {
  return parse((await run('template')).stdout, { columns: true });
}

/** The ids of each kind by queries that are independent of the table from which the commands derive theirs. */
const SEEN = [
  ['form', `select form_id::text from safety.followups where _deleted_at is null`],
  [
    'training',
    `select training_id::text from (
      select user_id, training_id from safety.training_matrix union select user_id, training_id from safety.training_completions
      union all select id, training_id from safety.training_records) t`,
  ],
  ['equipment_type', `select equipment_type_id from safety.equipment where _deleted_at is null`],
  ['schedule', `select schedule_id from safety.equipment_inspections`],
  [
    'field_office',
    `select field_office_id from safety.equipment_field_offices union all select unnest(field_office_ids) from safety.users`,
  ],
  [
    'client',
    `select client_id from safety.equipment_clients union all select unnest(client_ids) from safety.users`,
  ],
  [
    'line_of_business',
    `select line_of_business_id from safety.equipment where _deleted_at is null union all select unnest(line_of_business_ids) from safety.users`,
  ],
  ['metafield', `select metafield_id from safety.equipment_metavalues`],
  ['metafield_item', `select unnest(item_ids)::text from safety.equipment_metavalues`],
] as const;

test('labels counts the occurrences of each id of every kind', async () => {
  const found = await coverage();
  for (const [kind, ids] of SEEN) {
    const expected = await fixture.query<{ id: string; seen: number }>(
      `select id, count(*)::int as seen from (${ids}) t (id) where id <> '' group by id order by seen desc, id collate "C"`,
    );
    expect(expected.length, kind).toBeGreaterThan(2);
    const { unlabelled = [] } = found.find((one) => one.kind === kind) ?? {};
    expect(unlabelled.map(({ seen }) => seen)).toEqual(expected.map(({ seen }) => seen));
    expect(unlabelled.toSorted((a, b) => b.seen - a.seen || (a.id < b.id ? -1 : 1))).toEqual(expected);
  }
});

describe('the template', () => {
  test('after a template is filled in and imported, every id has a label', async () => {
    const { stdout } = await run('template', '--out', fileOf('template.csv'));
    const rows = await template();
    expect(stdout).toContain(`${rows.length} ids without a name in ${fileOf('template.csv')}`);
    const seen = rows.map((row) => Number(row['seen']));
    expect(seen).toEqual(seen.toSorted((one, other) => other - one));
    expect(Object.keys(rows[0] ?? {})).toEqual(['kind', 'id', 'label', 'parent_id', 'seen']);

    const text = await readFile(fileOf('template.csv'), 'utf8');
    const filled = text.replaceAll(
      /^(\w+),([^,]*),,/gm,
      (_, kind, id) => `${kind},${id},Name of ${kind} ${id},`,
    );
    expect((await importText(filled)).stdout).toBe(`${rows.length} labels added, 0 changed, 0 as before.\n`);
    expect((await coverage()).every(({ ids, labelled }) => ids === labelled)).toBe(true);
    expect(await template()).toEqual([]);
    expect(
      await fixture.query(`select label from safety.labels where kind = 'form' and id = '1201'`),
    ).toEqual([{ label: 'Name of form 1201' }]);
  });

  test('what the service names is counted, and is not in the template', async () => {
    fixture.sandbox.readings.notOffered = [];
    expect((await fixture.run(['sync', 'names', '--force'])).code).toBe(0);
    expect((await run()).stdout).toMatch(/^form +7 +7 +0 +0 +–$/m);
    expect((await template()).map(({ kind }) => kind)).not.toContain('form');
    const parent = await importText('kind,id,label,parent_id\nform,1202,,1201\n');
    expect(parent.stdout).toContain('1 label added');
    expect(
      await fixture.query(
        `select group_label is not null as has from safety.id_labels where kind = 'form' and id = '1202'`,
      ),
    ).toEqual([{ has: true }]);
  });
});

describe('the import', () => {
  const FILE =
    'kind;id;label;parent_id\nfield_office;uk;Britain;\nfield_office;410;Aberdeen;uk\nform;1201;Check;\n';
  const stored = () =>
    fixture.query(
      `select kind, id, label, parent_id, xmin::text from safety.labels order by kind, id collate "C"`,
    );

  test('a repeated import writes nothing; another adds and changes labels, and with --replace removes the others of its kinds', async () => {
    expect((await importText(FILE)).stdout).toBe('3 labels added, 0 changed, 0 as before.\n');
    const before = await stored();
    expect((await importText(FILE)).stdout).toBe('0 labels added, 0 changed, 3 as before.\n');
    expect(await stored()).toEqual(before);
    const { stdout } = await importText(
      'kind,id,label\nform,1202,Near miss\nform,1201,Inspection\nform,9,\n',
    );
    expect(stdout).toContain('1 label added, 1 changed, 0 as before.\n1 line without a label skipped.\n');
    const replaced = await importText('kind,id,label\nfield_office,411,Stavanger\n', '--replace');
    expect(replaced.stdout).toContain('1 label added, 0 changed, 0 as before, 2 removed.\n');
    const labels = await fixture.query(`select kind, id, label from safety.labels order by kind, id`);
    expect(labels.map((row) => Object.values(row as object).join(' '))).toEqual([
      'field_office 411 Stavanger',
      'form 1201 Inspection',
      'form 1202 Near miss',
    ]);
  });

  test('an import with bad lines stores no label, and reports each bad line', async () => {
    await importText(FILE);
    const before = await stored();
    const bad =
      'kind,id,label,parent_id\nform,1203,Talk,\nfork,1,A,\nform,1203,Again,\nfield_office,412,R,nl\n';
    const { code, stdout, stderr } = await importText(bad, '--replace');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(
      'usage_invalid: nothing was imported: 3 lines of the labels file are not usable:',
    );
    expect(stderr).toContain('  - line 3: kind "fork" is not known');
    expect(stderr).toContain('  - line 4: form 1203 is already on line 2');
    expect(stderr).toContain('  - line 5: parent_id nl of field_office 412 has no name');
    expect(await stored()).toEqual(before);
  });
});
