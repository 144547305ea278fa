import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { importLabels } from '../../warehouse/import-labels.ts';
import { readCoverage } from '../../warehouse/label-coverage.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { usageError } from '../../shared/errors.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { accountColumn, renderRows } from '../table.ts';
import { onlyAccountOf, type Verb } from '../verb.ts';

const STDOUT = '-';
/** Number of ids printed for each kind; the template has all. */
const MOST_NAMED = 3;
/** Without it a spreadsheet reads the file in another character encoding, which changes names. */
const BYTE_ORDER_MARK = '\uFEFF';

const template: Verb<{ out?: string }> = {
  about: 'write a CSV file of every id without a name, the most used first, to fill in and import',
  options: [['--out <file>', 'path of the file; - is stdout, the default']],
  common: ['account'],
  async run({ app, terminal }, { out = STDOUT }) {
    const account = onlyAccountOf(app, 'a file of labels');
    const missing = (await readCoverage(app.db, [account.id]))
      .flatMap(({ kind, unlabelled }) => unlabelled.map((one) => ({ kind, ...one })))
      .toSorted((one, other) => other.seen - one.seen);
    const { renderLabelsFile } = await import('../../warehouse/labels-file.ts');
    const file = renderLabelsFile(missing);
    if (out === STDOUT) terminal.printFile(file.trimEnd());
    else {
      await writeWholeFile(out, `${BYTE_ORDER_MARK}${file}`);
      terminal.print(
        `${formatNumber(missing.length, 'id')} without a name in ${resolve(out)}: fill the column label (lines may stay empty), then safety-sync labels import ${out}`,
      );
    }
  },
};

const importVerb: Verb<{ replace?: true }> = {
  about: 'store the labels of a CSV file (kind,id,label,parent_id): nothing is stored if a line is invalid',
  takes: [['<file>', 'CSV in UTF-8, with commas, semicolons or tabs']],
  options: [['--replace', 'remove labels of the file’s kinds that it does not have']],
  common: ['account', 'json'],
  async run({ app }, { replace = false }, [path = '']) {
    const { readLabelsFile } = await import('../../warehouse/labels-file.ts');
    const bytes = await readFile(path).catch((cause: unknown) => {
      const { code = '' } = cause as NodeJS.ErrnoException;
      const advice = 'Name a CSV file such as safety-sync labels template --out labels.csv writes.';
      throw usageError(`cannot read the labels file ${resolve(path)} (${code})`, advice, cause);
    });
    const { id: accountId } = onlyAccountOf(app, 'a file of labels');
    const outcome = await importLabels(app.db, readLabelsFile(bytes), { accountId, replace });
    const { added, changed, unchanged, removed, unfilled } = outcome;
    const gone = removed === 0 ? '' : `, ${formatCount(removed)} removed`;
    const skipped = unfilled === 0 ? [] : [`${formatNumber(unfilled, 'line')} without a label skipped.`];
    const stored = `${formatNumber(added, 'label')} added, ${formatCount(changed)} changed, ${formatCount(unchanged)} as before${gone}.`;
    return { json: { labels: outcome }, lines: [stored, ...skipped] };
  },
};

export const labels: Verb = {
  about: 'show of how many ids of each kind the service has the name, a label has it, or nobody',
  common: ['accounts', 'json'],
  verbs: { template, import: importVerb },
  async run({ app, terminal }) {
    const coverage = await readCoverage(app.db, app.accountIds);
    const table = renderRows(terminal, coverage, {
      ...accountColumn(coverage),
      kind: ({ kind }) => kind,
      'ids met': ({ ids }) => ids,
      'named by the service': ({ named }) => named,
      'by a label': ({ labelled }) => labelled,
      'by nobody': ({ unlabelled }) => unlabelled.length,
      'most used without a name (records)': ({ unlabelled }) =>
        unlabelled
          .slice(0, MOST_NAMED)
          .map(({ id, seen }) => `${id} (${formatCount(seen)})`)
          .join(', ') || null,
    });
    const advice = coverage.some(({ unlabelled }) => unlabelled.length > 0)
      ? 'To name them: safety-sync labels template --out labels.csv; fill the column label; safety-sync labels import labels.csv'
      : 'Every id has a name.';
    return {
      json: { labels: coverage },
      lines: [
        table,
        '',
        coverage.every(({ ids }) => ids === 0) ? 'No ids were met yet: run safety-sync sync first.' : advice,
      ],
    };
  },
};
