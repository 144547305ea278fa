/** Reads all data of the safety report in one snapshot. */
import { sql } from 'drizzle-orm';
import { type StoredPartition, unreadOf } from '../../engine/streams/unread-partitions.ts';
import type { Connection, Queryable } from '../../engine/database/connection.ts';
import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import {
  isRecordUrlTemplate,
  RECORD_KINDS,
  type RecordKind,
  type RecordUrls,
} from '../../shared/record-urls.ts';
import { type IssueGroup, readIssueGroups } from '../../operate/status/read-account-rows.ts';
import { readAccounts, type StreamFacts, UNKNOWN_STREAMS } from '../../operate/status/read-accounts.ts';
import { type Answers, ask } from './questions/question.ts';
import { QUESTIONS } from './questions/questions.ts';
import { choosePeople, WEEK_QUESTIONS } from './questions/week-questions.ts';

export interface Report {
  readonly accountId: string;
  /** The reporting time zone. */
  readonly timezone: string;
  /** By the database's clock. */
  readonly asOfMs: number;
  readonly today: string;
  readonly answers: Answers<typeof QUESTIONS & typeof WEEK_QUESTIONS>;
  /** Equipment of types that are not configured; the answers count it. */
  readonly unread: readonly StoredPartition[];
  readonly streams: readonly StreamFacts[];
  readonly issues: readonly IssueGroup[];
  readonly recordUrls: RecordUrls;
}

export const isAnythingRead = ({ streams }: Pick<Report, 'streams'>): boolean =>
  streams.some(({ lastSuccessMs }) => lastSuccessMs !== null);

export const NOTHING_READ = 'Nothing was read from the service yet, so there is nothing to report.';

/** A report, and the transaction in which it was read. */
export interface Snapshot {
  readonly db: Pick<Queryable, 'execute'>;
  readonly report: Report;
}

interface ReportReadOptions {
  /** The configured types; absent: unknown. */
  readonly equipmentTypes?: readonly string[];
  /** The configured templates; default: the stored ones. */
  readonly recordUrls?: RecordUrls;
  /** Reads more in the report's snapshot, which ends with it. */
  readonly also?: (snapshot: Snapshot) => Promise<void>;
}

/** The configured templates, and the stored ones of other kinds, so that the report links as views do. */
async function readRecordUrls(
  db: Pick<Queryable, 'execute'>,
  accountId: string,
  configured: RecordUrls,
): Promise<RecordUrls> {
  const [stored = {}] = await db.execute<Partial<Record<RecordKind, string | null>>>(
    sql`select followup_url as followup, resource_url as resource, equipment_url as equipment, employee_url as employee
      from safety.reporting_settings where account_id = ${accountId}`,
  );
  const templates = RECORD_KINDS.map((kind) => [kind, configured[kind] ?? stored[kind] ?? ''] as const);
  // A stored template is checked again, because an update by hand is not.
  return Object.fromEntries(templates.filter(([, template]) => isRecordUrlTemplate(template)));
}

/** Needs a migrated warehouse. */
export async function readReport(
  connection: Connection,
  accountId: string,
  { equipmentTypes, recordUrls = {}, also }: ReportReadOptions = {},
): Promise<Report> {
  // Read before the answers: if a sync ends in between, the data is newer than the page states, never older.
  const { databaseNowMs, accounts } = await readAccounts(connection, [accountId]);
  return await connection.db.transaction(
    async (tx) => {
      const [clock] = await tx.execute<{ timezone: string; today: string }>(
        sql`select safety.reporting_timezone(${accountId}) as timezone, safety.reporting_today(${accountId})::text as today`,
      );
      const answers = await ask(tx, QUESTIONS, { accountId });
      const people = choosePeople(answers.weekByPerson).shown.map(({ user_id: id }) => id);
      const week = await ask(tx, WEEK_QUESTIONS, { accountId, people });
      const stored = (await readStoredPartitions(tx, [accountId])).get(accountId) ?? [];
      const report: Report = {
        accountId,
        unread: equipmentTypes === undefined ? [] : unreadOf(stored, equipmentTypes),
        timezone: clock?.timezone ?? 'UTC',
        today: clock?.today ?? '',
        asOfMs: databaseNowMs,
        answers: { ...answers, ...week },
        streams: accounts.get(accountId) ?? UNKNOWN_STREAMS,
        issues: await readIssueGroups(tx, accountId),
        recordUrls: await readRecordUrls(tx, accountId, recordUrls),
      };
      await also?.({ db: tx, report });
      return report;
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}
