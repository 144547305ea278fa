/** Variables that are spelled almost like ours, or begin like ours, and are none: most are misspelt, so a setting is missing. */
import { closestMatch } from 'leven';
import type { Environment } from './read-variables.ts';
import { VARIABLES } from './variables.ts';

/** Beginnings that few other programs use: each such variable is named, also one that is like none of ours. */
const OWN =
  /^(?:SAFETY|SYNC|RECONCILE|FOLLOWUPS|FRESHNESS|ALERT|REPORT|REPORTING|RECORD_URL|RETENTION|RETRY|PRIVACY)_/;
/** Added by Kubernetes for each of its services; of the image and of compose files; of web servers. */
const OTHERS = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT(?:_\d+_(?:TCP|UDP)(?:_|$)|$)|^SAFETY_SYNC_|^HTTPS_/;

/** `…: SYNC_CORN (did you mean SYNC_CRON?)`; null: none is unknown. An empty variable counts as not set. */
export function describeUnknown(env: Environment): string | null {
  const names = Object.keys(VARIABLES);
  const bareOf = (name: string): string => (names.includes(name) ? name : name.replace(/_FILE$/i, ''));
  const set = Object.keys(env).filter((name) => (env[name] ?? '') !== '');
  const bareNames = set.map(bareOf);
  const unknown = set.flatMap((name) => {
    const bare = bareOf(name).toUpperCase();
    if (names.includes(bareOf(name)) || OTHERS.test(bare)) return [];
    const isOwn = OWN.test(bare);
    const inner = bare.replace(/^SAFETY_/, '');
    const mostErrors = Math.max(isOwn ? 2 : 1, Math.floor(bare.length / 5));
    const meant = names.includes(inner) ? inner : closestMatch(bare, names, { maxDistance: mostErrors });
    if (meant === undefined) return isOwn ? [name] : [];
    // Where the variable itself is set, a similar name belongs to another program, such as DATABASE_URI.
    if (!isOwn && bareNames.includes(meant)) return [];
    return [`${name} (did you mean ${meant}${/_FILE$/i.test(name) ? '_FILE' : ''}?)`];
  });
  return unknown.length === 0
    ? null
    : `not a variable of safety-sync, so without effect: ${unknown.join(', ')}`;
}
