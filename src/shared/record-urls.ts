/** Links to records in the service, by templates such as `https://service.example.com/followups/{id}`. Pure. */
import { PSEUDONYM_PREFIX } from './pseudonym.ts';

export const RECORD_KINDS = ['followup', 'resource', 'equipment', 'employee'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

/** The template of each kind; a kind without one has no links. */
export type RecordUrls = Readonly<Partial<Record<RecordKind, string | undefined>>>;

/** The ids of a record in a template; a follow-up has all of them. */
const PLACEHOLDER = /\{(id|response_id|form_id)\}/g;

/** https or http, with a placeholder behind the host name: an id must not choose the host. */
export function isRecordUrlTemplate(template: string): boolean {
  const rest = template.replaceAll(PLACEHOLDER, '');
  const urlOf = (id: string) => {
    const text = template.replaceAll(PLACEHOLDER, id);
    return URL.canParse(text) ? new URL(text) : null;
  };
  const [url, other] = [urlOf('1'), urlOf('2')];
  if (url === null || other === null || url.href === other.href) return false;
  const isPlain = url.username === '' && url.password === '' && !/[\s{}\p{Cc}]/u.test(rest);
  return isPlain && ['https:', 'http:'].includes(url.protocol) && url.origin === other.origin;
}

/** Values of a record by placeholder. */
type RecordIds = Readonly<Record<string, string | null>>;

/** null: there is no template, an id that it names is not known, or is not stored (a pseudonym). */
export function recordUrlOf(urls: RecordUrls, kind: RecordKind, ids: RecordIds): string | null {
  const template = urls[kind];
  if (template === undefined) return null;
  const idOf = (name: string): string => ids[name] ?? '';
  const used = [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => idOf(name));
  if (used.some((id) => id === '' || id.startsWith(PSEUDONYM_PREFIX))) return null;
  return template.replaceAll(PLACEHOLDER, (_, name: string) => encodeURIComponent(idOf(name)));
}
