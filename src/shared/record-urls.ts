/** Links to records in the service, by templates such as `https://service.example.com/followups/{id}`. Pure. */

export const RECORD_KINDS = ['followup', 'resource', 'equipment', 'employee'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

/** The template of each kind; a kind without one has no links. */
export type RecordUrls = Readonly<Partial<Record<RecordKind, string | undefined>>>;

const ID = '{id}';
/** Also of a shortened pseudonym. */
const PSEUDONYM_PREFIX = 'pseudonym:';

/** https or http, with `{id}` behind the host name: an id must not choose the host. */
export function isRecordUrlTemplate(template: string): boolean {
  const urlOf = (id: string) => {
    const text = template.replaceAll(ID, id);
    return URL.canParse(text) ? new URL(text) : null;
  };
  const [url, other] = [urlOf('1'), urlOf('2')];
  if (url === null || other === null || !template.includes(ID)) return false;
  const isPlain = url.username === '' && url.password === '' && !/[\s\p{Cc}]/u.test(template);
  return isPlain && ['https:', 'http:'].includes(url.protocol) && url.origin === other.origin;
}

/** null: there is no template, no id, or the id is not stored (a pseudonym). */
export function recordUrlOf(urls: RecordUrls, kind: RecordKind, id: string | null): string | null {
  const template = urls[kind];
  if (template === undefined || id === null || id === '' || id.startsWith(PSEUDONYM_PREFIX)) return null;
  return template.replaceAll(ID, () => encodeURIComponent(id));
}
