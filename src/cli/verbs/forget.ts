import { formatNumber } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { isSearched } from '../../engine/privacy/people.ts';
import { cancelForgetting, findStoredPerson, forgetPerson, listForgotten } from '../../engine/sync/forget.ts';
import { toIso } from '../../shared/time.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { confirm, YES_OPTION } from '../confirm.ts';
import { accountFields } from '../run-results.ts';
import { renderRows } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import {
  accountFlags,
  type CommonOptions,
  type CommandContext,
  JSON_OPTION,
  ONE_ACCOUNT,
  type Output,
  onlyAccountOf,
  type Verb,
  runWithApp,
} from '../verb.ts';

interface ForgetOptions extends CommonOptions {
  readonly name?: readonly string[];
  readonly yes?: true;
  readonly list?: true;
  readonly cancel?: string;
}

/** `id` and the names: as they were typed. */
function describeForgotten(
  id: string,
  options: ForgetOptions,
  { pseudonym, streams, runs, isNameKnown }: Awaited<ReturnType<typeof forgetPerson>>,
): string[] {
  const changed = streams.reduce((sum, { rowsChanged }) => sum + (rowsChanged ?? 0), 0);
  const ofRuns = runs > 0 ? `, and notes and errors of ${formatNumber(runs, 'run')}` : '';
  const lines = [
    `${formatNumber(changed, 'row')} rewritten${ofRuns}. They are ${pseudonym} everywhere, also in what the source sends of them from now on.`,
  ];
  if (!isNameKnown) {
    lines.push(
      `Texts may still name them: no name of two words or more is known here. To find one in texts, too: safety-sync forget ${id} --name "First Last"${accountFlags(options)}`,
    );
  }
  const notSearched = (options.name ?? []).filter((name) => !isSearched(name));
  if (notSearched.length > 0) {
    lines.push(
      `Not searched in texts: ${notSearched.join(', ')}. A single word is also the name of others; to store no texts, omit their columns (PRIVACY_OMIT).`,
    );
  }
  lines.push(
    'Not reached from here: backups (after a restore, forget again), reports and exports that were written before, and logs (docs/privacy.md).',
  );
  return lines;
}

async function runForget(
  context: CommandContext,
  options: ForgetOptions,
  [id = '']: readonly string[],
): Promise<number> {
  const { list, cancel, name: names } = options;
  if ([list, cancel, id.trim() || undefined].filter((one) => one !== undefined).length !== 1)
    throw usageError('name the id of one person, or --list, or --cancel ID');
  return await runWithApp(context, options, async (app) => {
    const account = onlyAccountOf(app, 'a person');
    const runContext = account.runContext(buildRunEvents(account));
    if (list === true) return renderForgotten(await listForgotten(runContext), context.terminal);
    if (cancel !== undefined) return describeCancelled(cancel, await cancelForgetting(runContext, cancel));
    const found = await findStoredPerson(runContext, id.trim());
    // A name is given where no row has the id any more, for example after the loss of the key.
    if (found === undefined && names === undefined) {
      const ask = `select user_id, name from safety.people where name ilike '%…%'`;
      throw usageError(`nobody has the id ${id}: nothing was changed`, `To find an id: ${ask}`);
    }
    context.terminal.note(describeFound(id, found));
    await confirm(context.terminal, options, {
      name: id,
      command: `safety-sync forget ${id}${accountFlags(options)}`,
    });
    const person = await forgetPerson(runContext, id, options.name);
    const { pseudonym, streams, runs, isNameKnown } = person;
    return {
      json: {
        ...accountFields(app.accounts.length > 1, account.id),
        pseudonym,
        name_known: isNameKnown,
        streams: streams.map(({ stream, rowsChanged }) => ({ stream, rows_changed: rowsChanged ?? 0 })),
        runs_changed: runs,
      },
      lines: () => describeForgotten(id, options, person),
    };
  });
}

function describeFound(id: string, found: Awaited<ReturnType<typeof findStoredPerson>>): string {
  const tables = (found?.tables ?? []).map(({ table, rows }) => `  ${table}: ${formatNumber(rows, 'row')}`);
  return [`To be forgotten: ${found?.name ?? 'a person without a stored name'} (${id})`, ...tables].join(
    '\n',
  );
}

function renderForgotten(people: Awaited<ReturnType<typeof listForgotten>>, terminal: Terminal): Output {
  const forgotten = people.map(({ person, since }) => ({
    person,
    forgotten_at: toIso(Date.parse(since)),
  }));
  return {
    json: { forgotten },
    lines: () =>
      forgotten.length === 0
        ? ['Nobody is forgotten.']
        : [
            renderRows(
              forgotten,
              [
                { title: 'person', cellOf: ({ person }) => person },
                { title: 'forgotten at', cellOf: ({ forgotten_at: at }) => at },
              ],
              terminal,
            ),
          ],
  };
}

function describeCancelled(id: string, person: string | null): Output {
  if (person === null)
    throw usageError(`${id} is not forgotten: nothing was changed`, 'Who is: safety-sync forget --list');
  return {
    json: { cancelled: person },
    lines: () => [
      `${id} is not forgotten any more. The next reads store the id and the name again: at once with safety-sync reconcile`,
    ],
  };
}

export const forget: Verb<ForgetOptions> = {
  name: 'forget',
  about: 'replace a person by a pseudonym everywhere, now and whenever the source sends them again',
  takes: [['user_id?', 'id of the person: as in safety.users.id']],
  hasAccounts: ONE_ACCOUNT,
  options: [
    [
      '--name <name...>',
      'another name to find in texts, in addition to the stored one; several, or several times',
    ],
    ['--list', 'who is forgotten, and since when'],
    ['--cancel <user_id>', 'no longer forget this person: the name returns with the next read'],
    YES_OPTION,
    JSON_OPTION,
  ],
  run: runForget,
};
