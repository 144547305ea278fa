/** Reads all data of the safety report in one snapshot. */
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Connection } from '../../engine/database/connection.ts';
import { isRecordUrlTemplate, RECORD_KINDS, type RecordUrls } from '../../shared/record-urls.ts';
import { type Area, readScope } from './area.ts';
import { fetchRows, type Rows } from './cells.ts';
import { type Figures, readFigures, readTrends, type Trends } from './figures.ts';
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

/** The first rows of a list, and how many it has. */
interface ShownList extends Rows {
  readonly total: number;
}

export interface Report {
  readonly accountId: string;
  /** The service's own name of the account, or `accountId`. */
  readonly accountName: string;
  /** null: the whole account. */
  readonly area: Area | null;
  /** The reporting time zone. */
  readonly timezone: string;
  /** By the database's clock. */
  readonly asOfMs: number;
  readonly today: string;
  readonly figures: Figures;
  readonly trends: Trends;
  readonly lists: Readonly<Record<ListName, ShownList>>;
  readonly parts: readonly Part[];
  readonly recordUrls: RecordUrls;
}

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
    account_name: z.string().nullable(),
    timezone: z.string(),
    today: z.string(),
    now_ms: z.coerce.number(),
    urls: z.record(z.string(), z.string().nullable()).nullable(),
  }),
]);
async function readFacts(db: Readable, accountId: string, configured: RecordUrls) {
  const [facts] = FACTS.parse([
    ...(await db.execute(sql`select (select name from safety.accounts where account_id = ${accountId}) as account_name,
      safety.reporting_timezone(${accountId}) as timezone, safety.reporting_today(${accountId})::text as today,
      extract(epoch from clock_timestamp()) * 1000 as now_ms,
      (select json_build_object('followup', followup_url, 'resource', resource_url, 'equipment', equipment_url, 'employee', employee_url)
        from safety.reporting_settings where account_id = ${accountId}) as urls`)),
  ]);
  // A stored template is checked again, because an update by hand is not.
  const templates = RECORD_KINDS.map((kind) => [kind, configured[kind] ?? facts.urls?.[kind] ?? ''] as const);
  return {
    ...facts,
    recordUrls: Object.fromEntries(templates.filter(([, url]) => isRecordUrlTemplate(url))) as RecordUrls,
  };
}

async function readParts(db: Readable, accountId: string): Promise<Part[]> {
  const streams = sql.join(
    STREAMS.map((stream) => sql`${stream}`),
    sql`, `,
  );
  const found = await db.execute(sql`select s.stream, extract(epoch from f.last_success_at) * 1000 as read_ms,
      coalesce(f.last_status = 'failed', false) as has_failed, coalesce(f.unread_rows, 0) as unread, f.unread_types,
      f.unread_since_on as unread_on
    from unnest(array[${streams}]) with ordinality as s (stream, place)
    left join safety.freshness f on f.account_id = ${accountId} and f.stream = s.stream order by s.place`);
  return z.array(PART).parse([...found]);
}

async function readLists(db: Readable, scope: Scope): Promise<Report['lists']> {
  const lists: Partial<Record<ListName, ShownList>> = {};
  for (const name of LIST_NAMES) {
    const { sql: statement, shown } = LISTS[name];
    const all = bind(statement, scope);
    const { columns, rows } = await fetchRows(db, sql`${all} limit ${shown}`);
    const isWhole = rows.length < shown;
    const counted = isWhole ? undefined : await db.execute(sql`select count(*) as total from (${all}) l`);
    lists[name] = { columns, rows, total: isWhole ? rows.length : Number(counted?.[0]?.['total']) };
  }
  return lists as Report['lists'];
}

/** Needs a migrated warehouse. Throws `usage_invalid` if the account has no such area. */
export async function readReport(
  { db }: Pick<Connection, 'db'>,
  accountId: string,
  {
    area = null,
    recordUrls = {},
    also,
  }: {
    readonly area?: Area | null | undefined;
    /** The configured templates; default: the stored ones. */
    readonly recordUrls?: RecordUrls;
    /** Reads more in the report's snapshot, which ends with it. */
    readonly also?: (snapshot: Snapshot) => Promise<void>;
  } = {},
): Promise<Report> {
  return await db.transaction(
    async (tx) => {
      // Its statements are many and short: to compile each takes longer than to run it.
      await tx.execute(sql`set local jit = off`);
      const facts = await readFacts(tx, accountId, recordUrls);
      const scope = await readScope(tx, accountId, area);
      const report: Report = {
        accountId,
        accountName: facts.account_name ?? accountId,
        area,
        timezone: facts.timezone,
        today: facts.today,
        asOfMs: facts.now_ms,
        figures: await readFigures(tx, scope),
        trends: await readTrends(tx, scope),
        lists: await readLists(tx, scope),
        parts: await readParts(tx, accountId),
        recordUrls: facts.recordUrls,
      };
      await also?.({ db: tx, scope, report });
      return report;
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}
