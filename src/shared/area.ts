/** An area of an account: an office, a line of business, a company, a group of them, or the people of a supervisor. */

const AREA_WORDS = {
  field_office: 'office',
  line_of_business: 'line of business',
  client: 'company',
  supervisor: 'supervisor',
} as const;
type AreaKind = keyof typeof AREA_WORDS;
export const AREA_KINDS = Object.keys(AREA_WORDS) as AreaKind[];

export interface Area {
  readonly kind: AreaKind;
  /** Its name, its id, or the name of its group. */
  readonly name: string;
}

/** For example `field_office=Houston`; null: it has another form. */
export function parseArea(text: string): Area | null {
  const [, word = '', name = ''] = /^\s*(\w+)\s*=\s*(.*\S)\s*$/.exec(text) ?? [];
  const kind = AREA_KINDS.find((one) => one === word);
  return kind === undefined ? null : { kind, name };
}

/** The form that `parseArea` reads. */
export const areaText = ({ kind, name }: Area): string => `${kind}=${name}`;

/** For example `office Houston`. */
export const describeArea = ({ kind, name }: Area): string => `${AREA_WORDS[kind]} ${name}`;
