import { usageError } from '../../shared/errors.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { kindsOf, NAMING_LISTS } from '../../engine/streams/optional-methods.ts';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import { type Verification, verifyRecord } from '../../engine/sync/verify-record.ts';
import { parseStream } from '../arguments.ts';
import { MEANING } from './data-issues.ts';
import { EXIT, outputOf } from '../run-results.ts';
import { runAccounts } from '../run-accounts.ts';
import { renderRows } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { onlyAccountOf, type Verb } from '../verb.ts';

/** So much of a value is shown; JSON has all of it. */
const SHOWN_CHARACTERS = 60;

const STORED = { live: 'is stored', deleted: 'is marked as deleted', absent: 'is not stored' };
const SOURCE = {
  present: 'the service has it',
  deleted: 'the service sends it as deleted',
  absent: 'the service does not have it',
};

/** The next step after a difference. */
function nextStep({ stream, id, equal, source }: Verification): string[] {
  if (equal) return [];
  if (source === 'absent') return [`What is gone is marked as deleted by: safety-sync reconcile ${stream}`];
  return [
    `The next sync brings what has changed since the last one. To store it now: safety-sync verify ${stream} ${id} --repair`,
  ];
}

function describe(verification: Verification, terminal: Terminal): string[] {
  const { stream, id, stored, source, equal, fields, remarks, withheld, stored_at: at } = verification;
  const { colors } = terminal;
  const different = fields.filter((field) => !field.equal).length;
  const fieldsText = different === 0 ? '' : ` (${formatNumber(different, 'field')})`;
  const verdict = equal ? 'equal' : `different${fieldsText}`;
  const textOf = (value: unknown): string | null =>
    value === null
      ? null
      : (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, SHOWN_CHARACTERS);
  const table = renderRows(terminal, fields, {
    '': (one) => (one.equal ? colors.dim('=') : colors.red('≠')),
    field: (one) => one.field,
    stored: (one) => textOf(one.stored),
    'the service': (one) => (one.equal ? colors.dim('the same') : textOf(one.source)),
  });
  return [
    colors.bold(`${stream} ${id}: ${verdict}. It ${STORED[stored]}, and ${SOURCE[source]}.`),
    at === null ? '' : `The row last changed here at ${formatTime(at)}.`,
    fields.length === 0 ? '' : `\n${table}\n`,
    ...remarks.map(({ kind, field, problem }) => `${kind} ${field ?? ''}: ${problem} (${MEANING[kind]})`),
    withheld.length === 0
      ? ''
      : `The service may say something else of ${withheld.join(', ')}: the privacy settings keep it from being stored.`,
  ].filter((line) => line !== '');
}

type Flags = { readonly repair?: true };

export const verify: Verb<Flags> = {
  about: 'request one record from the service and compare it with the stored one, field by field',
  takes: [
    ['<stream>', STREAM_NAMES.join(', ')],
    ['<id>', 'key of the record: as in the key column of its table; of a name KIND:ID, such as form:12'],
  ],
  options: [['--repair', 'store the record as the service has it now, after another request']],
  common: ['account', 'liftPrivacy', 'json'],
  needs({ repair: stores = false }, [name = '', key = '']) {
    const stream = parseStream(name);
    if (key === '') throw usageError('the id of a record is empty');
    const kinds = NAMING_LISTS.flatMap(kindsOf);
    if (stream === 'names' && !kinds.some((kind) => key.startsWith(`${kind}:`)))
      throw usageError(`the id of a name is KIND:ID, such as form:12; the kinds are ${kinds.join(', ')}`);
    return { needsService: true, stores };
  },
  async run(context, options, [name = '', key = '']) {
    const { app, terminal } = context;
    const { repair: repairs = false } = options;
    const stream = parseStream(name);
    const account = onlyAccountOf(app, 'a record');
    const { known, verification } = await verifyRecord(account.runContext(), stream, key);
    const { equal, source } = verification;
    const json = { verification };
    const lines = describe(verification, terminal);
    if (!repairs || equal || source === 'absent')
      return { json, lines: [...lines, ...nextStep(verification)], code: equal ? EXIT.ok : EXIT.failed };
    const request = { kind: 'sync', onlyRecord: known, streams: [stream] } as const;
    const all = await runAccounts(context, options, request);
    const repair = outputOf(all, terminal);
    const isDone = all.every(({ outcome }) => outcome === 'succeeded');
    return {
      json: { ...json, repair: repair.json.runs[0] },
      lines: [...lines, '\nStored again, from one more response:', ...repair.lines],
      code: isDone ? EXIT.ok : Math.max(EXIT.failed, repair.code),
    };
  },
};
