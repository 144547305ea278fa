import type { App } from '../../app.ts';
import { usageError } from '../../shared/errors.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { toIso } from '../../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../../engine/streams/index.ts';
import { type FieldComparison, type Verification, verifyRecord } from '../../engine/sync/verify-record.ts';
import { parseStreams } from '../arguments.ts';
import { MEANING } from './data-issues.ts';
import { accountFields, afterBlank, EXIT, outputOf } from '../run-results.ts';
import { runAccounts } from '../run-verb.ts';
import { type ColumnOf, renderRows } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import {
  accountFlags,
  type CommonOptions,
  type CommandContext,
  isAtTerminal,
  JSON_OPTION,
  LIFT_PRIVACY_OPTION,
  ONE_ACCOUNT,
  onlyAccountOf,
  type Verb,
  runWithApp,
} from '../verb.ts';

interface VerifyOptions extends CommonOptions {
  readonly repair?: true;
}

function valueText(value: unknown): string {
  if (value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const STORED = { live: 'is stored', deleted: 'is marked as deleted', absent: 'is not stored' };

function headline({ stream, key, stored, source, isEqual, fields }: Verification): string {
  const name = `${stream} ${key}`;
  if (source === 'rejected') return `${name}: the service has it, and it cannot be stored as it is.`;
  if (source === 'absent') {
    const more = stored === 'absent' ? 'either' : 'any more';
    return `${name} ${STORED[stored]}, and the service does not have it ${more}.`;
  }
  const has = source === 'deleted' ? 'sends it as deleted' : 'has it';
  if (isEqual)
    return `${name} is stored as the service ${has}: ${formatNumber(fields.length, 'field')}, all equal.`;
  if (stored !== 'live' || source === 'deleted') return `${name} ${STORED[stored]}, and the service ${has}.`;
  const different = fields.filter((field) => !field.isEqual).length;
  return `${name}: ${different} of ${formatNumber(fields.length, 'field')} ${different === 1 ? 'differs' : 'differ'}.`;
}

/** The next step after a difference. `flags`: the account where it was chosen. */
function nextAction({ stream, key, isEqual, source, storedAt }: Verification, flags: string): string[] {
  if (isEqual) return [];
  if (source === 'rejected') return ['The source has to put it right: there is nothing to repair here.'];
  if (source === 'absent') {
    const isComplete = streamNamed(stream).readMode.kind !== 'incremental';
    return [
      `What is gone is marked as deleted by: safety-sync ${isComplete ? 'sync' : 'reconcile'} ${stream}${flags}`,
    ];
  }
  const since = storedAt === null ? '' : ` The row last changed here at ${formatTime(storedAt)}.`;
  return [
    `What the source changed since the last sync differs until the next one.${since}`,
    `To store it now: safety-sync verify ${stream} ${key} --repair${flags}`,
  ];
}

function describe(verification: Verification, terminal: Terminal, flags: string): string[] {
  const { colors } = terminal;
  const { fields, remarks, calculatedAtMs, requests, withheld } = verification;
  const lines = [colors.bold(headline(verification)), `Read with ${formatNumber(requests, 'request')}.`];
  if (calculatedAtMs !== null) {
    lines.push(
      `It comes from the training list of ${formatTime(calculatedAtMs)}; the stored row may come from an earlier one.`,
    );
  }
  if (fields.length > 0) {
    const columns: ColumnOf<FieldComparison>[] = [
      { title: '', cellOf: ({ isEqual }) => (isEqual ? colors.dim('=') : colors.red('≠')) },
      { title: 'field', cellOf: ({ field }) => field },
      { title: 'stored', isCut: true, cellOf: ({ stored }) => valueText(stored) },
      {
        title: 'the service',
        isCut: true,
        cellOf: ({ isEqual, source }) => (isEqual ? colors.dim('the same') : valueText(source)),
      },
    ];
    lines.push('', renderRows(fields, columns, terminal));
  }
  if (remarks.length > 0) {
    lines.push('', 'Values of the service that are not stored as received:');
    for (const { kind, field, problem } of remarks) {
      const where = field === null ? '' : ` ${field}`;
      lines.push(`  ${colors.bold(kind)}${where}: ${problem} (${MEANING[kind]})`);
    }
  }
  if (withheld.length > 0) {
    lines.push(
      `\nThe service may say something else of ${withheld.join(', ')}: the privacy settings keep it from being stored.`,
    );
  }
  return [...lines, ...afterBlank(nextAction(verification, flags))];
}

function verificationJson(app: App, accountId: string, verification: Verification) {
  const { stream, key, isEqual, stored, source, storedAt, calculatedAtMs, requests } = verification;
  return {
    ...accountFields(app.accounts.length > 1, accountId),
    stream,
    id: key,
    equal: isEqual,
    stored,
    source,
    stored_at: storedAt,
    calculated_at: toIso(calculatedAtMs),
    requests,
    fields: verification.fields.map(({ isEqual: equal, ...field }) => ({ ...field, equal })),
    remarks: verification.remarks,
    withheld: verification.withheld,
  };
}

async function runVerify(
  context: CommandContext,
  options: VerifyOptions,
  [name = '', key = '']: readonly string[],
): Promise<number> {
  const [stream = ''] = parseStreams([name]);
  if (key === '') throw usageError('the id of a record is empty');
  const { terminal } = context;
  return await runWithApp(
    context,
    { ...options, needsService: true, stores: options.repair === true },
    async (app) => {
      const account = onlyAccountOf(app, 'a record');
      const verification = await verifyRecord(account.runContext(), stream, key);
      const { isEqual, source, known } = verification;
      const json = { verification: verificationJson(app, account.id, verification) };
      const lines = describe(verification, terminal, accountFlags(options));
      if (options.repair !== true || isEqual || source === 'absent' || source === 'rejected') {
        return { json, lines: () => lines, code: isEqual ? EXIT.ok : EXIT.failed };
      }
      if (!options.json) terminal.print(lines.join('\n'));
      const all = await runAccounts(app, {
        kind: 'sync',
        onlyRecord: known,
        streamsOf: () => [stream],
        isAtTerminal: isAtTerminal(context, app, options),
      });
      const isDone = all.every(({ result }) => result.outcome === 'succeeded');
      const repair = outputOf(all, terminal);
      return {
        json: { ...json, repair: repair.json.runs[0] },
        lines: () => ['\nStored again, from one more response:', ...repair.lines()],
        code: isDone ? EXIT.ok : Math.max(EXIT.failed, repair.code),
      };
    },
  );
}

export const verify: Verb<VerifyOptions> = {
  name: 'verify',
  about: 'request one record from the service and compare it with the stored one, field by field',
  takes: [
    ['stream', STREAM_NAMES.join(', ')],
    ['id', 'key of the record: as in the key column of its table'],
  ],
  hasAccounts: ONE_ACCOUNT,
  options: [
    ['--repair', 'store the record as the service has it now, after another request under the stream’s lock'],
    LIFT_PRIVACY_OPTION,
    JSON_OPTION,
  ],
  run: runVerify,
};
