/** Reads all data of the safety report in one snapshot. */
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import type { Connection } from '../../engine/database/connection.ts';
import { isRecordUrlTemplate, RECORD_KINDS, type RecordUrls } from '../../shared/record-urls.ts';
import { type Area, readScope } from './area.ts';
import { fetchRows, type Rows } from './cells.ts';
import { readFigures, readTrends } from './figures.ts';
import { LIST_NAMES, type ListName, LISTS } from './lists.ts';
import { bind, type Readable, type Scope } from './statement.ts';

/** The streams of its figures. */
const STREAMS = ['followups', 'training-employee-status', 'equipments', 'resources'];

/** How a part of the data was last read. */
const PART = z.object({
  stream: z.string(),
  /** null: it was never read completely. */
  read_ms: z.coerce.number().nullable(),
  has_failed: z.boolean(),
  /** Rows of equipment types that are read no more. */
  unread: z.coerce.number(),
  unread_types: z.string().nullable(),
  unread_on: z.string().nullable(),
});
export type Part = z.output<typeof PART>;

export type Report = Readonly<Awaited<ReturnType<typeof readAll>>>;

export const isAnythingRead = ({ parts }: Pick<Report, 'parts'>): boolean =>
  parts.some(({ read_ms: ms }) => ms !== null);

export const NOTHING_READ = 'Nothing was read from the service yet, so there is nothing to report.';

/** A report, and the open transaction of its data. */
export interface Snapshot {
  readonly db: Readable;
  readonly scope: Scope;
  readonly report: Report;
}

const FACTS = z.tuple([
  z.object({
    /** The service's own name of the account, or its id. */
    accountName: z.string(),
    /** The reporting time zone. */
    timezone: z.string(),
    today: z.string(),
    /** By the database's clock. */
    asOfMs: z.coerce.number(),
    urls: z.record(z.string(), z.string().nullable()).nullable(),
  }),
]);
async function readFacts(db: Readable, accountId: string, configured: RecordUrls) {
  const [{ urls, ...facts }] = FACTS.parse([
    ...(await db.execute(sql`select coalesce((select name from safety.accounts where account_id = ${accountId}), ${accountId}) as "accountName",
      safety.reporting_timezone(${accountId}) as timezone, safety.reporting_today(${accountId})::text as today,
      extract(epoch from clock_timestamp()) * 1000 as "asOfMs",
      (select json_build_object('followup', followup_url, 'resource', resource_url, 'equipment', equipment_url, 'employee', employee_url)
        from safety.reporting_settings where account_id = ${accountId}) as urls`)),
  ]);
  // A stored template is checked again, because an update by hand is not.
  const templates = RECORD_KINDS.map((kind) => [kind, configured[kind] ?? urls?.[kind] ?? ''] as const);
  return {
    ...facts,
    recordUrls: Object.fromEntries(templates.filter(([, url]) => isRecordUrlTemplate(url))) as RecordUrls,
  };
}

async function readParts(db: Readable, accountId: string): Promise<Part[]> {
  const found = await db.execute(sql`select s.stream, extract(epoch from f.last_success_at) * 1000 as read_ms,
      coalesce(f.last_status = 'failed', false) as has_failed, coalesce(f.unread_rows, 0) as unread, f.unread_types,
      f.unread_since_on as unread_on
    from unnest(${toArrayLiteral(STREAMS)}::text[]) with ordinality as s (stream, place)
    left join safety.freshness f on f.account_id = ${accountId} and f.stream = s.stream order by s.place`);
  return z.array(PART).parse([...found]);
}

/** The first rows of each list, and how many it has. */
async function readLists(db: Readable, scope: Scope) {
  const lists: Partial<Record<ListName, Rows & { readonly total: number }>> = {};
  for (const name of LIST_NAMES) {
    const { sql: statement, shown } = LISTS[name];
    const all = bind(statement, scope);
    const { columns, rows } = await fetchRows(db, sql`${all} limit ${shown}`);
    const isWhole = rows.length < shown;
    const counted = isWhole ? undefined : await db.execute(sql`select count(*) as total from (${all}) l`);
    lists[name] = { columns, rows, total: isWhole ? rows.length : Number(counted?.[0]?.['total']) };
  }
  return lists as Required<typeof lists>;
}

export interface ReportOptions {
  readonly accountId: string;
  /** null: the whole account. */
  readonly area?: Area | null | undefined;
  /** The configured templates; default: the stored ones. */
  readonly recordUrls?: RecordUrls;
}

async function readAll(db: Readable, scope: Scope, options: ReportOptions) {
  const { accountId, area = null, recordUrls = {} } = options;
  return {
    accountId,
    area,
    ...(await readFacts(db, accountId, recordUrls)),
    figures: await readFigures(db, scope),
    trends: await readTrends(db, scope),
    lists: await readLists(db, scope),
    parts: await readParts(db, accountId),
  };
}

/**
 * Needs a migrated warehouse. Throws `usage_invalid` if the account has no such area. Returns what `use` returns, which can read
 * more in the report's snapshot.
 */
export async function readReport<Result>(
  { db }: Pick<Connection, 'db'>,
  options: ReportOptions,
  use: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  return await db.transaction(
    async (tx) => {
      // Its statements are many and short: to compile each takes longer than to run it.
      await tx.execute(sql`set local jit = off`);
      const scope = await readScope(tx, options.accountId, options.area ?? null);
      return await use({ db: tx, scope, report: await readAll(tx, scope, options) });
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}
