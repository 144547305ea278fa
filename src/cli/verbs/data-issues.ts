import type { Account } from '../../app.ts';
import { readIssues } from '../../engine/control-tables/issues.ts';
import { formatAge, formatNumber } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import type { IssueKind } from '../../engine/streams/stream.ts';
import { withIsoTimes } from '../../operate/status/json-status.ts';
import { exitCodeOf } from '../run-results.ts';
import { runAccounts } from '../run-accounts.ts';
import { accountColumn, renderRows } from '../table.ts';
import type { Verb } from '../verb.ts';

type Flags = { readonly all?: true; readonly retry?: true };

/** Where the value or record is stored, for each kind of issue. */
export const MEANING: Readonly<Record<IssueKind, string>> = {
  record_rejected: 'not stored; the issue holds it',
  field_nulled: 'stored as null',
  unknown_field: 'kept in _raw only; of people not at all',
  unknown_value: 'kept as it came',
};

export const dataIssues: Verb<Flags> = {
  about: 'show rejected records, nulled fields, unknown fields and values',
  options: [
    ['--all', 'also resolved ones'],
    ['--retry', 'process the stored records again first, without requests'],
  ],
  common: ['accounts', 'liftPrivacy', 'json'],
  needs: ({ retry = false }) => ({ stores: retry }),
  async run(context, options) {
    const { app, terminal } = context;
    const { accountIds, db } = app;
    const { colors } = terminal;
    const open = await readIssues(db, accountIds, false);
    const streams = ({ id }: Account) =>
      STREAM_NAMES.filter((name) => open.some((one) => one.account_id === id && one.stream === name));
    const retried = options.retry
      ? await runAccounts(context, options, { kind: 'sync', retryIssues: true, streams })
      : [];
    const issues = await readIssues(db, accountIds, options.all ?? false);
    // Issues that differ only in the record and in positions have one line.
    const alike = groupBy(issues, ({ account_id: account, stream, kind, field, resolved_at: resolved }) =>
      JSON.stringify([account, stream, kind, field?.replace(/\[\d+\]/g, '[]'), resolved === null]),
    ).map((group) => ({ ...group[0], records: group.length }));
    const table = renderRows(terminal, alike, {
      ...accountColumn(alike),
      stream: ({ stream }) => stream,
      what: ({ kind, resolved_at: at }) => (at === null ? kind : `${kind}${colors.green(' (resolved)')}`),
      field: ({ field }) => field?.replace(/\[\d+\]/g, '[]') ?? null,
      // An unknown field has one issue, however many records show it.
      records: ({ kind, records }) => (kind === 'unknown_field' ? null : records),
      'last seen': (one) => formatAge(one.last_seen_at, app.clock.now()),
      example: (one) => `${one.record_id ?? '(no key)'}: ${one.problem}`,
    });
    const kinds = [...new Set(issues.map(({ kind }) => kind))];
    const left = issues.filter(({ resolved_at: at }) => at === null).length;
    return {
      json: { data_issues: issues.map(withIsoTimes) },
      lines: [
        ...(issues.length === 0 ? [] : [table, '']),
        ...kinds.map((kind) => `${colors.bold(kind)}: ${MEANING[kind]}`),
        left === 0
          ? 'No open data issues.'
          : `${formatNumber(left, 'open issue')}. They close by themselves when the records are corrected.`,
      ],
      code: exitCodeOf(retried),
    };
  },
};
