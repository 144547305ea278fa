import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { LABEL_KINDS } from '../../warehouse/labels.ts';
import { type ImportOutcome, importLabels } from '../../warehouse/import-labels.ts';
import { type MetId, readMetIds } from '../../warehouse/label-coverage.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { usageError } from '../../shared/errors.ts';
import { formatCount, formatNumber, nameSome } from '../../shared/format.ts';
import { accountFields, EXIT } from '../run-results.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import {
  accountFlags,
  type CommonOptions,
  JSON_OPTION,
  ONE_ACCOUNT,
  onlyAccountOf,
  type Verb,
  withApp,
} from '../verb.ts';

const STDOUT = '-';
/** Number of ids printed for each kind; the template has all. */
const MOST_NAMED = 3;
/** Without it a spreadsheet reads the file in another character encoding, which changes names. */
const BYTE_ORDER_MARK = '\uFEFF';

/** By a person or by the service. */
const isNamed = ({ label, name }: MetId): boolean => label !== null || name !== null;

/** For each account and kind of id; those without label and name are listed, the most used first. */
function coverageOf(accountIds: readonly string[], met: readonly MetId[]) {
  return accountIds.flatMap((accountId) =>
    LABEL_KINDS.map((kind) => {
      const ids = met.filter((one) => one.accountId === accountId && one.kind === kind);
      return {
        ...accountFields(accountIds.length > 1, accountId),
        kind,
        ids: ids.length,
        labelled: ids.filter(({ label }) => label !== null).length,
        named: ids.filter(({ name }) => name !== null).length,
        unlabelled: ids.filter((one) => !isNamed(one)).map(({ id, seen }) => ({ id, seen })),
      };
    }),
  );
}

type KindCoverage = ReturnType<typeof coverageOf>[number];

function coverageAdvice(coverage: readonly KindCoverage[]): string[] {
  const missing = coverage.reduce((sum, { unlabelled }) => sum + unlabelled.length, 0);
  if (coverage.every(({ ids }) => ids === 0)) return ['No ids were met yet: run safety-sync sync first.'];
  if (missing === 0) return ['Every id has a name.'];
  return [
    `${formatNumber(missing, 'id')} without a name. To give them names:`,
    '  safety-sync labels template --out labels.csv  lists them, the most used first',
    '  … fill the column label …',
    '  safety-sync labels import labels.csv          all or nothing; can be repeated',
  ];
}

const runLabels = withApp<CommonOptions>(async ({ app, terminal }) => {
  const namelessOf = ({ unlabelled: { length } }: KindCoverage): string =>
    (length === 0 ? terminal.colors.green : terminal.colors.yellow)(formatCount(length));
  const mostUsedOf = ({ unlabelled }: KindCoverage): string =>
    unlabelled
      .slice(0, MOST_NAMED)
      .map(({ id, seen }) => `${id} (${formatCount(seen)})`)
      .join(', ') || '–';
  const { accountIds, db } = app;
  const coverage = coverageOf(accountIds, await readMetIds(db, accountIds));
  const table = () =>
    renderRows(
      coverage,
      [
        accountColumn(accountIds.length > 1),
        { title: 'kind', cellOf: ({ kind }) => kind },
        countColumn('ids met', ({ ids }) => ids),
        countColumn('named by the service', ({ named }) => named),
        countColumn('by a label', ({ labelled }) => labelled),
        { title: 'by nobody', align: 'right', cellOf: namelessOf },
        { title: 'most used without a name (records)', cellOf: mostUsedOf },
      ],
      terminal,
    );
  return { json: { labels: coverage }, lines: () => [table(), '', ...coverageAdvice(coverage)] };
});

interface TemplateOptions extends CommonOptions {
  /** Default: stdout. */
  readonly out?: string;
}

const runTemplate = withApp<TemplateOptions>(async ({ app, terminal }, options) => {
  const { out = STDOUT } = options;
  const account = onlyAccountOf(app, 'a file of labels');
  const met = await readMetIds(app.db, [account.id]);
  const missing = met
    .filter((one) => !isNamed(one))
    .map(({ kind, id, seen }) => ({ kind, id, seen }))
    .toSorted((one, other) => other.seen - one.seen);
  const { renderLabelsFile } = await import('../../warehouse/labels-file.ts');
  const file = renderLabelsFile(missing);
  if (out === STDOUT) {
    terminal.printFile(file.trimEnd());
    return EXIT.ok;
  }
  await writeWholeFile(out, `${BYTE_ORDER_MARK}${file}`);
  terminal.print(
    missing.length === 0
      ? `Every id has a name: ${resolve(out)} has its first line only.`
      : `${formatNumber(missing.length, 'id')} without a name ${missing.length === 1 ? 'is' : 'are'} in ${resolve(out)}: fill the column label (lines may stay empty), then safety-sync labels import ${out}${accountFlags(options)}`,
  );
  return EXIT.ok;
});

interface ImportOptions extends CommonOptions {
  readonly replace?: true;
}

async function readLabels(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const advice = 'Name a CSV file such as safety-sync labels template --out labels.csv writes.';
    throw usageError(`cannot read the labels file ${resolve(path)} (${code})`, advice, cause);
  }
}

function describeOutcome(outcome: ImportOutcome, unmet: readonly string[]): string[] {
  const { added, changed, unchanged, removed, unfilled } = outcome;
  const phrases = [`${formatNumber(added, 'label')} added`, `${formatCount(changed)} changed`];
  phrases.push(`${formatCount(unchanged)} as before`);
  if (removed > 0) phrases.push(`${formatCount(removed)} removed`);
  const lines = [`${phrases.join(', ')}.`];
  if (unfilled > 0) lines.push(`${formatNumber(unfilled, 'line')} without a label skipped.`);
  if (unmet.length > 0) {
    lines.push(
      `${formatNumber(unmet.length, 'label')} for ids that no record has (${nameSome(unmet, MOST_NAMED)}): right for what is to come; otherwise see whether a spreadsheet has changed the ids.`,
    );
  }
  return lines;
}

const runImport = withApp<ImportOptions>(async ({ app, signal }, options, [path = '']) => {
  const { readLabelsFile } = await import('../../warehouse/labels-file.ts');
  const file = readLabelsFile(await readLabels(path));
  const account = onlyAccountOf(app, 'a file of labels');
  const outcome = await importLabels(app.db, file, {
    accountId: account.id,
    replace: options.replace === true,
    signal,
  });
  const parents = new Set(file.lines.map(({ kind, parentId }) => `${kind} ${parentId ?? ''}`));
  const met = new Set((await readMetIds(app.db, [account.id])).map(({ kind, id }) => `${kind} ${id}`));
  const unmet = file.lines
    .map(({ kind, id }) => `${kind} ${id}`)
    .filter((key) => !met.has(key) && !parents.has(key));
  return { json: { labels: { ...outcome, unmet } }, lines: () => describeOutcome(outcome, unmet) };
});

const template: Verb<TemplateOptions> = {
  name: 'template',
  about:
    'write a CSV file of every id without label or name, the most used first, to be filled in and imported',
  hasAccounts: ONE_ACCOUNT,
  options: [['--out <file>', 'path of the file; - is stdout, the default']],
  run: runTemplate,
};

const importVerb: Verb<ImportOptions> = {
  name: 'import',
  about: 'store the labels of a CSV file (kind,id,label,parent_id): nothing is stored if a line is invalid',
  takes: [['file', 'CSV in UTF-8, with commas, semicolons or tabs']],
  hasAccounts: ONE_ACCOUNT,
  options: [['--replace', 'remove labels of the file’s kinds that it does not have'], JSON_OPTION],
  run: runImport,
};

export const labels: Verb<CommonOptions> = {
  name: 'labels',
  about:
    'show for each kind of id how many the service names, how many have a label, and the most used with neither',
  hasAccounts: true,
  options: [JSON_OPTION],
  verbs: [template, importVerb],
  run: runLabels,
};
