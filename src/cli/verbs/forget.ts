import { formatCount, formatNumber, nameSome } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { isSearched } from '../../engine/privacy/people.ts';
import { forgetPerson } from '../../engine/sync/forget.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { accountFields } from '../run-results.ts';
import {
  accountFlags,
  type CommonOptions,
  type CommandContext,
  JSON_OPTION,
  ONE_ACCOUNT,
  onlyAccountOf,
  type Verb,
  runWithApp,
} from '../verb.ts';

interface ForgetOptions extends CommonOptions {
  readonly name?: readonly string[];
}

const MOST_NAMED = 5;

/** `id` and the names: as they were typed. */
function describeForgotten(
  id: string,
  options: ForgetOptions,
  person: Awaited<ReturnType<typeof forgetPerson>>,
): string[] {
  const { pseudonym, streams, runs, isNameKnown, namesakes } = person;
  const { name: names = [] } = options;
  const rewritten = streams.flatMap(({ stream, rowsChanged }) =>
    (rowsChanged ?? 0) > 0 ? [{ stream, rows: rowsChanged ?? 0 }] : [],
  );
  const changed = rewritten.reduce((sum, { rows }) => sum + rows, 0);
  const lines = [
    changed === 0
      ? `No row names this person. Where that is a surprise: is ${id} an id as in safety.users?`
      : `${formatNumber(changed, 'row')} named this person and ${changed === 1 ? 'is' : 'are'} rewritten:`,
    ...rewritten.map(({ stream, rows }) => `  ${stream}: ${formatNumber(rows, 'row')}`),
  ];
  if (runs > 0) lines.push(`  notes and errors of ${formatNumber(runs, 'run')}`);
  lines.push(`They are ${pseudonym} everywhere, also in what the source sends of them from now on.`);
  if (!isNameKnown) {
    lines.push(
      `Texts may still name them: no name of two words or more is known here. To find one in texts, too: safety-sync forget ${id} --name "First Last"${accountFlags(options)}`,
    );
  }
  const notSearched = names.filter((name) => !isSearched(name));
  if (notSearched.length > 0) {
    lines.push(
      `Not searched in texts: ${notSearched.join(', ')}. A single word is also the name of others; to store no texts, omit their columns (PRIVACY_OMIT).`,
    );
  }
  if (namesakes.length > 0) {
    const [people, keeps] = namesakes.length === 1 ? ['person', 'keeps'] : ['people', 'keep'];
    lines.push(
      `${formatCount(namesakes.length)} other ${people} with that name (${nameSome(namesakes, MOST_NAMED)}) ${keeps} it in users. Texts have the pseudonym in its place, also where they mean another person. If one of these ids is the same person, forget it, too.`,
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
  if (id.trim() === '') throw usageError('the id of the user is empty');
  return await runWithApp(context, options, async (app) => {
    const example = (account: string) => `forget USER_ID --account ${account}`;
    const account = onlyAccountOf(app, { what: 'a person', example });
    const runContext = account.runContext(buildRunEvents(account));
    const person = await forgetPerson(runContext, { id, names: options.name ?? [] });
    const { pseudonym, streams, runs, isNameKnown, namesakes } = person;
    return {
      json: {
        ...accountFields(app.accounts.length > 1, account.id),
        pseudonym,
        name_known: isNameKnown,
        namesakes: namesakes.length,
        streams: streams.map(({ stream, rowsChanged }) => ({ stream, rows_changed: rowsChanged ?? 0 })),
        runs_changed: runs,
      },
      lines: () => describeForgotten(id, options, person),
    };
  });
}

export const forget: Verb<ForgetOptions> = {
  name: 'forget',
  about:
    'replace a person by a pseudonym everywhere, now and whenever the source sends them again; count namesakes',
  takes: [['user_id', 'id of the person: as in safety.users.id']],
  hasAccounts: ONE_ACCOUNT,
  options: [
    [
      '--name <name...>',
      'another name to find in texts, in addition to the stored one; several, or several times',
    ],
    JSON_OPTION,
  ],
  run: runForget,
};
