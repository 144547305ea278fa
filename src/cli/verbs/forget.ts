import { formatCount, formatNumber, nameSome } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { type CleanedStream, forgetPerson } from '../../engine/sync/forget.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { accountFields, EXIT } from '../run-results.ts';
import {
  type CommonOptions,
  type CommandContext,
  JSON_OPTION,
  ONE_ACCOUNT,
  onlyAccountOf,
  type Verb,
  withApp,
} from '../verb.ts';

interface ForgetOptions extends CommonOptions {
  readonly name?: readonly string[];
}

const changedRows = (streams: readonly CleanedStream[]): number =>
  streams.reduce((sum, { rowsChanged }) => sum + (rowsChanged ?? 0), 0);

const MOST_NAMED = 5;

async function runForget(
  context: CommandContext,
  options: ForgetOptions,
  [id = '']: readonly string[],
): Promise<number> {
  if (id.trim() === '') throw usageError('the id of the user is empty');
  return await withApp(context, options, async (app) => {
    const { terminal } = context;
    const example = (account: string) => `forget USER_ID --account ${account}`;
    const account = onlyAccountOf(app, { what: 'a person', example });
    const person = { id, names: options.name ?? [] };
    const { pseudonym, streams, runs, isNameKnown, namesakes } = await forgetPerson(
      account.runContext(buildRunEvents(account)),
      person,
    );
    if (options.json) {
      const rows = streams.map(({ stream, rowsChanged }) => ({ stream, rows_changed: rowsChanged ?? 0 }));
      const result = {
        ...accountFields(app.accounts.length > 1, account.id),
        pseudonym,
        name_known: isNameKnown,
        namesakes: namesakes.length,
        streams: rows,
        runs_changed: runs,
      };
      terminal.print(JSON.stringify(result));
      return EXIT.ok;
    }
    const changed = changedRows(streams);
    terminal.print(
      changed === 0
        ? `No row names this person. Where that is a surprise: is ${id} an id as in safety.users?`
        : `${formatNumber(changed, 'row')} named this person and ${changed === 1 ? 'is' : 'are'} rewritten:`,
    );
    for (const { stream, rowsChanged } of streams) {
      if ((rowsChanged ?? 0) > 0) terminal.print(`  ${stream}: ${formatNumber(rowsChanged ?? 0, 'row')}`);
    }
    if (runs > 0) terminal.print(`  notes and errors of ${formatNumber(runs, 'run')}`);
    terminal.print(`They are ${pseudonym} everywhere, also in what the source sends of them from now on.`);
    if (!isNameKnown) {
      terminal.print(
        `Texts may still name them: no name of two words or more is known here. To find one in texts, too: safety-sync forget ${id} --name "First Last"`,
      );
    }
    if (namesakes.length > 0) {
      const [people, keeps] = namesakes.length === 1 ? ['person', 'keeps'] : ['people', 'keep'];
      terminal.print(
        `${formatCount(namesakes.length)} other ${people} with that name (${nameSome(namesakes, MOST_NAMED)}) ${keeps} it in users. Texts have the pseudonym in its place, also where they mean another person. If one of these ids is the same person, forget it, too.`,
      );
    }
    terminal.print(
      'Not reached from here: backups (after a restore, forget again), reports and exports that were written before, and logs (docs/privacy.md).',
    );
    return EXIT.ok;
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
