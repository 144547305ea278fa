/** Rewrites rows with protected values in their records, in place: it creates no state and keeps deletion marks. */
import { getTableConfig } from 'drizzle-orm/pg-core';
import { type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { instantOf, list, name, of, same, syncedAtOf, target } from '../database/sql-names.ts';
import { askedTypeOf } from '../database/stored-record.ts';
import type { ColumnShape, TableShape } from '../database/table-shape.ts';
import { parseExactJson, stringifyExactJson } from '../../shared/exact-json.ts';
import { Received } from '../../shared/received.ts';
import type { Row } from '../streams/stream.ts';
import type { CleaningScope, CleaningStep } from './cleaning-step.ts';
import { normalize } from '../loading/normalize.ts';
import { parseRecord, readRecord } from '../loading/record.ts';
import type { StagedIssue } from '../loading/staged-issue.ts';

const STEP_RECORDS = 500;

/** Rows that came as a parameter, as `r`. */
export const rowsAs = (columns: readonly ColumnShape[], rows: readonly Row[]): SQL =>
  sql`jsonb_to_recordset(${stringifyExactJson(rows)}::jsonb) as r (${sql.join(
    columns.map((column) => sql`${name(column.name)} ${sql.raw(column.type)}`),
    sql`, `,
  )})`;

interface Rewritten {
  readonly before: string;
  readonly key: string;
  readonly parent: Row;
  readonly children: readonly (readonly Row[])[];
  readonly issues: readonly StagedIssue[];
}

export async function cleanRecords(
  db: Queryable,
  scope: CleaningScope,
  after: readonly string[] | null,
): Promise<CleaningStep> {
  const { shape, accountId, protection } = scope;
  const { stream, parent } = shape;
  const key = name(parent.key[0] ?? '');
  const from = after === null ? sql`` : sql`and t.${key} > ${after[0] ?? ''}`;
  const rows = await db.execute<{ key: string; raw: string | null; asked: string | null }>(sql`
    select t.${key} as key, t._raw::text as raw, ${askedTypeOf(stream)} as asked from ${target(parent)} t
    where t.account_id = ${accountId} ${from} order by t.${key} limit ${STEP_RECORDS}`);
  const changed = rows.flatMap(({ key: before, raw, asked }): Rewritten[] => {
    const stored = raw === null ? null : parseExactJson(raw);
    const kept = protection.ofRecord(stored);
    if (stored === null || kept === stored) return [];
    const about = asked === null ? {} : { equipmentTypeId: asked };
    const read = readRecord(Received.of(kept), { stream, about, secret: protection.secret });
    const parsed = parseRecord(stream, read);
    const { issues, ...made } = normalize(stream, read, parsed);
    const row = { ...made.parent, _raw: parsed.value };
    return [{ before, key: read.key ?? before, parent: row, children: made.children, issues }];
  });
  if (changed.length > 0) await rewrite(db, scope, changed);
  return {
    last: rows.length < STEP_RECORDS ? null : [rows.at(-1)?.key ?? ''],
    seen: rows.length,
    changed: changed.length,
  };
}

type RewriteScope = Omit<CleaningScope, 'protection'>;

async function rewrite(db: Queryable, scope: RewriteScope, changed: readonly Rewritten[]): Promise<void> {
  const { shape, accountId } = scope;
  const { parent, children, stream } = shape;
  const moved = changed.filter(({ before, key }) => before !== key);
  if (moved.length > 0) await moveRows(db, scope, moved);
  // Columns that are computed from children (`_last_message_at`) come from the record; columns of the response do not.
  const isInRecord = (column: string): boolean =>
    column.startsWith('_') || !stream.contextColumns.includes(column);
  const columns = parent.columns.filter(({ name: column }) => isInRecord(column));
  const changes = columns.map((column) => column.name).filter((column) => !parent.key.includes(column));
  await db.execute(sql`update ${target(parent)} t set ${sql.join(
    changes.map((column) => sql`${name(column)} = r.${name(column)}`),
    sql`, `,
  )}, _synced_at = ${syncedAtOf(scope)}
    from ${rowsAs(
      columns,
      changed.map((one) => one.parent),
    )} where t.account_id = ${accountId} and ${same('t', 'r', parent.key)}`);
  const keys = changed.map(({ key }) => key);
  const rowsOf = (position: number) => changed.flatMap((one) => one.children[position] ?? []);
  for (const [position, child] of [...children.entries()].reverse()) {
    await db.execute(sql`delete from ${target(child)} c
      where c.account_id = ${accountId} and c.${name(child.key[0] ?? '')} = any (${toArrayLiteral(keys)}::text[])
        and not exists (select from ${rowsAs(child.columns, rowsOf(position))} where ${same('r', 'c', child.key)})`);
  }
  for (const [position, child] of children.entries())
    await putChildren(db, accountId, child, rowsOf(position));
  await addIssues(
    db,
    scope,
    changed.flatMap(({ issues }) => issues),
  );
}

async function putChildren(
  db: Queryable,
  accountId: string,
  child: TableShape,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const columns = child.columns.map((column) => column.name);
  const changes = columns.filter((column) => !child.key.includes(column));
  await db.execute(sql`insert into ${target(child)} as t (account_id, ${list(columns)})
    select ${accountId}::text, ${of('r', columns)} from ${rowsAs(child.columns, rows)}
    on conflict (account_id, ${list(child.key)}) do update set
      ${sql.join(
        changes.map((column) => sql`${name(column)} = excluded.${name(column)}`),
        sql`, `,
      )}
    where (${of('t', changes)}) is distinct from (${of('excluded', changes)})`);
}

/** Moves rows to another key by copying them, because foreign keys prevent a parent from changing its own key. */
async function moveRows(
  db: Queryable,
  { shape, accountId }: RewriteScope,
  moved: readonly Rewritten[],
): Promise<void> {
  const pairs = rowsAs(
    [
      { name: 'before', type: 'text' },
      { name: 'key', type: 'text' },
    ],
    moved.map(({ before, key }) => ({ before, key })),
  );
  for (const { table, ...copied } of [shape.parent, ...shape.children]) {
    const [key = ''] = copied.key;
    const others = getTableConfig(table)
      .columns.map((column) => column.name)
      .filter((column) => column !== 'account_id' && column !== key);
    await db.execute(sql`insert into ${target({ table, ...copied })} (account_id, ${name(key)}, ${list(others)})
      select t.account_id, r.key, ${of('t', others)} from ${target({ table, ...copied })} t join ${pairs} on t.${name(key)} = r.before
      where t.account_id = ${accountId} on conflict do nothing`);
  }
  const before = toArrayLiteral(moved.map((one) => one.before));
  await db.execute(sql`delete from ${target(shape.parent)}
    where account_id = ${accountId} and ${name(shape.parent.key[0] ?? '')} = any (${before}::text[])`);
}

/** Adds issues that the rewritten record shows and the record before it did not. */
async function addIssues(
  db: Queryable,
  { shape, accountId, now }: RewriteScope,
  issues: readonly StagedIssue[],
): Promise<void> {
  for (const issue of issues) {
    await db.execute(sql`insert into safety_sync.data_issues
        (account_id, stream, fingerprint, record_id, field, kind, problem, value, context, first_seen_at, last_seen_at)
      values (${accountId}, ${shape.stream.name}, ${issue.fingerprint}, ${issue.record_id}, ${issue.field}, ${issue.kind},
        ${issue.problem}, ${stringifyExactJson(issue.value ?? null)}::jsonb, ${JSON.stringify(issue.context)}::jsonb,
        ${instantOf({ now })}, ${instantOf({ now })})
      on conflict do nothing`);
  }
}
