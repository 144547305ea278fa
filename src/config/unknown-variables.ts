/** Variables that are spelled almost like ours, or begin like ours, and are none: most are misspelt, so a setting is missing. */
import { closestName, editDistance } from '../shared/closest-name.ts';
import type { Environment } from './read-variables.ts';

/** Beginnings that few other programs use: each such variable is named, also one that is like none of ours. */
const OWN =
  /^(?:SAFETY|SYNC|RECONCILE|FOLLOWUPS|FRESHNESS|ALERT|REPORT|REPORTING|RECORD_URL|RETENTION|RETRY|PRIVACY)_/;
/** Added by Kubernetes for each of its services; of the image and of compose files; of web servers. */
const OTHERS = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT(?:_\d+_(?:TCP|UDP)(?:_|$)|$)|^SAFETY_SYNC_|^HTTPS_/;

const firstWord = (name: string): string => name.split('_', 1)[0] ?? '';

/** `bare`: without `_FILE`. */
function meantBy(bare: string, names: readonly string[], isOwn: boolean): string | undefined {
  const inner = bare.replace(/^SAFETY_(?:SYNC_)?/, '');
  if (names.includes(inner)) return inner;
  const alike = isOwn ? names : names.filter((name) => editDistance(firstWord(name), firstWord(bare)) <= 1);
  const mostErrors = Math.max(isOwn ? 2 : 1, Math.floor(bare.length / 5));
  const isCut = (name: string): boolean => bare.includes('_') && name.startsWith(`${bare}_`);
  return OTHERS.test(bare) ? undefined : (closestName(bare, alike, mostErrors) ?? alike.find(isCut));
}

/** `SYNC_CORN (did you mean SYNC_CRON?)`. An empty variable counts as not set. */
export function findUnknownVariables(env: Environment, names: readonly string[]): string[] {
  const isKnown = (name: string): boolean =>
    names.includes(name) || names.includes(name.replace(/_FILE$/, ''));
  const isSet = (name: string): boolean => (env[name] ?? '') !== '' || (env[`${name}_FILE`] ?? '') !== '';
  return Object.keys(env).flatMap((name) => {
    if ((env[name] ?? '') === '' || isKnown(name)) return [];
    const bare = name.toUpperCase().replace(/_FILE$/, '');
    const isOwn = OWN.test(bare) && !OTHERS.test(bare);
    const meant = meantBy(bare, names, isOwn);
    if (meant === undefined) return isOwn ? [name] : [];
    // Beside the variable itself, a name that is only alike is that of another program, such as DATABASE_URI.
    if (!isOwn && isSet(meant)) return [];
    const suffix = /_FILE$/i.test(name) ? '_FILE' : '';
    return [`${name} (did you mean ${meant}${suffix}?)`];
  });
}

/** null: none is unknown. */
export const describeUnknown = (unknown: readonly string[]): string | null =>
  unknown.length === 0 ? null : `not a variable of safety-sync, so without effect: ${unknown.join(', ')}`;
