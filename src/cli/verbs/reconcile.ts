import { formatCount } from '../../shared/format.ts';
import type { RunResult } from '../../engine/sync/run.ts';
import { parseStreams } from '../arguments.ts';
import { streamLabel } from '../run-results.ts';
import { runVerb } from '../run-verb.ts';
import { type CommonOptions, JSON_OPTION, LIFT_PRIVACY_OPTION, type Verb } from '../verb.ts';

interface ReconcileOptions extends CommonOptions {
  readonly allowMassDelete?: true;
}

/** The verdict on the syncs before it; null for streams with full reads at every sync. */
function describeMissed(repaired: number | null): string | null {
  if (repaired === null) return null;
  return repaired === 0
    ? 'no sync had missed anything'
    : `${formatCount(repaired)} of them an earlier sync should have brought: repaired now, please report this`;
}

/** Changes since the last sync are no repairs: a repair is a change that an earlier sync should have brought. */
function describeFound(result: RunResult, label: string): string | null {
  if (result.outcome !== 'succeeded') return null;
  const { inserted, updated, deleted, unchanged } = result.counts;
  const found = [
    ...(inserted > 0 ? [`${formatCount(inserted)} new`] : []),
    ...(updated > 0 ? [`${formatCount(updated)} changed`] : []),
    ...(deleted > 0 ? [`${formatCount(deleted)} gone at the source`] : []),
  ];
  const isFirst = updated + deleted + unchanged === 0;
  const since = isFirst ? '' : ' since the last sync';
  const news = found.length === 0 ? 'everything was in step' : `${found.join(', ')}${since}`;
  const sentence = [news, describeMissed(result.repaired)].filter((phrase) => phrase !== null).join('; ');
  // Only a reconciliation that can count missed changes reads in two passes.
  const twice =
    result.repaired === null
      ? ''
      : ' (what changed lately was read first and once more with everything else: read and unchanged count it twice)';
  return `${label}: ${sentence}${twice}`;
}

export const reconcile: Verb<ReconcileOptions> = {
  name: 'reconcile',
  about:
    'full refresh: find deletions of follow-ups and changes that syncs missed; print new and repaired records',
  hasStreams: true,
  hasAccounts: true,
  options: [
    ['--allow-mass-delete', 'accept a full refresh that the delete guard would refuse'],
    LIFT_PRIVACY_OPTION,
    JSON_OPTION,
  ],
  run: async (context, options, names) =>
    await runVerb(context, options, {
      kind: 'reconcile',
      streams: parseStreams(names),
      allowMassDelete: options.allowMassDelete,
      describe: (all) =>
        all.flatMap((one) => describeFound(one.result, streamLabel(one.account_id, one.result.stream)) ?? []),
    }),
};
