import type { Random } from '../random.ts';

/** Identifiers with names. The service sends only the identifiers; the names become the sandbox's labels. */
type Named = readonly [id: string, name: string];

/** Field offices with their regions, which the service never sends. */
export const fieldOffices: readonly (readonly [id: string, name: string, regionId: string])[] = [
  ['410', 'Aberdeen – Altens yard', 'north_sea'],
  ['411', 'Stavanger – Dusavik base', 'north_sea'],
  ['412', 'Rotterdam – Europoort', 'continent'],
  ['413', 'Houston – Pasadena shop', 'americas'],
  ['414', 'Calgary – Foothills', 'americas'],
  ['415', 'Perth – Henderson', 'asia_pacific'],
  ['fo_gdansk', 'Gdańsk – Remontowa', 'continent'],
  ['417', 'Singapore – Tuas', 'asia_pacific'],
];

/** The first one is the parent of two others. */
export const regions: readonly (readonly [id: string, name: string, parentId?: string])[] = [
  ['europe', 'Europe'],
  ['north_sea', 'North Sea', 'europe'],
  ['continent', 'Continental Europe', 'europe'],
  ['americas', 'Americas'],
  ['asia_pacific', 'Asia Pacific'],
];

export const categories: readonly Named[] = [
  ['11', 'Procedures'],
  ['12', 'Safety data sheets'],
  ['13', 'Forms and plans'],
  ['cat_external', 'From clients'],
];

/** Items that a metafield of the kind `items` may list, for any type of equipment. */
export const items: readonly (readonly [id: number, name: string])[] = [
  [901, 'Carrying case'],
  [902, 'Spare battery'],
  [903, 'Tag line'],
  [904, 'Inspection certificate'],
  [905, 'Spare part set'],
];

export const lineOfBusinesses: readonly Named[] = [
  ['51', 'Lifting & rigging'],
  ['52', 'Scaffolding & access'],
  ['53', 'Industrial cleaning'],
  ['54', 'Wind farm maintenance'],
  ['lob-55', 'Tank inspection'],
];

export const clients: readonly Named[] = [
  ['8801', 'Northline Energy'],
  ['8802', 'Harbour Terminals'],
  ['8803', 'Blue Ridge Chemicals'],
  ['8804', 'Vestmark Wind'],
  ['cl_8805', 'City Waterworks'],
];

interface Form {
  id: number;
  name: string;
  /** Texts of an observer; `{place}` is replaced. */
  notes: readonly string[];
}

export const forms: readonly Form[] = [
  {
    id: 1201,
    name: 'Workplace inspection',
    notes: [
      'Handrail on the {place} stairs is loose at the second landing.',
      'Emergency exit at {place} is blocked by pallets.',
      'Lighting above the walkway in {place} is out – two fittings.',
      'Eyewash station at {place} has not been tested since last month.',
      'Housekeeping in {place}: oil on the floor, absorbent missing.',
    ],
  },
  {
    id: 1202,
    name: 'Near miss',
    notes: [
      'Spanner fell from the platform at {place}. Nobody below. No tether was used.',
      'Forklift reversed out of {place} without a banksman; pedestrian stepped back in time.',
      'Sling slipped while the load was being landed at {place}. Lift stopped.',
      'Hose burst at {place}, pressure about 8 bar, operator was behind the screen.',
    ],
  },
  {
    id: 1203,
    name: 'Toolbox talk',
    notes: [
      'Crew asked for a refresher on permit hand-over at {place}.',
      'Three people at {place} had not read the new lifting plan. Please follow up.',
      'Question from the talk: who isolates the pump at {place} on night shift?',
    ],
  },
  {
    id: 1204,
    name: 'Hazard observation',
    notes: [
      'Unmarked container of solvent found in {place}.',
      'Scaffold at {place} has no tag; access closed until it is inspected.',
      'Guard missing on the belt drive in {place}.',
      'Cable run across the gangway at {place}, trip hazard.',
    ],
  },
  {
    id: 1205,
    name: 'Incident report',
    notes: [
      'First aid case at {place}: cut to the left hand, wrong gloves for the task.',
      'Spill of about 20 litres of hydraulic oil at {place}, contained.',
      'Vehicle touched the gate post at {place} at walking speed.',
    ],
  },
  {
    id: 1206,
    name: 'Vehicle pre-use check',
    notes: [
      'Reversing alarm not working on the pickup used at {place}.',
      'Tyre wear below the limit on the trailer parked at {place}.',
    ],
  },
  {
    id: 1207,
    name: 'Confined space permit audit',
    notes: [
      'Gas test record for {place} is missing the 14:00 reading.',
      'Rescue plan at {place} names a person who is on leave.',
    ],
  },
];

export const places: readonly string[] = [
  'the north yard',
  'workshop 2',
  'the blasting hall',
  'tank farm B',
  'the loading bay',
  'the paint store',
  'turbine 14',
  'the canteen corridor',
  'berth 3',
  'the compressor room',
  'the rigging loft',
  'lay-down area C',
];

export const replies: readonly string[] = [
  'On it, parts are ordered.',
  'Area is barricaded until the repair.',
  'Please add a photo of the finished work.',
  'Talked to the crew, they know.',
  'Contractor comes on Thursday.',
  'Waiting for the work permit.',
  'Moved to the maintenance plan.',
  'Can you take this one? You are on site this week.',
];

export const closings: readonly string[] = [
  'Done and checked.',
  'Repaired, tested, area opened again.',
  'Replaced. Old part is scrapped.',
  'Closed after a walk-round with the site manager.',
  'Crew briefed, list of signatures is in the folder.',
];

/** Text values that a careless reader may fail on. */
export const oddTexts: readonly string[] = [
  '',
  ' ',
  'Ladder ⚠️ broken 🪜 – 👷🏽‍♀️ sent home 👍',
  'He said: "It\'s fine", it was not.',
  'First line\nsecond line\r\n\tindented, with a tab',
  'C:\\Safety\\2024\\"new"\\report.docx',
  "Robert'); drop table followups;--",
  '=HYPERLINK("http://example.invalid";"open")',
  'Žluťoučký kůň – Größe 12 µm – 安全第一 – السلامة أولا',
  'Temperature was 41\u00a0°C\u200b at the kiln',
  '<b>not bold</b> &amp; 100 % {"ok":false}',
  'NULL',
  `Long story: ${'we checked the anchor points one by one and wrote each of them down. '.repeat(60)}`,
];

export const attachmentNames: readonly string[] = [
  'before.jpg',
  'after.jpg',
  'tag.png',
  'gas-test.pdf',
  'IMG 2043.heic',
  'podpis_ž.pdf',
];

// prettier-ignore
const givenNames = [
  'Aisha', 'Alejandro', 'Amelia', 'Anders', 'Anneke', 'Aroha', 'Beatriz', 'Bram', 'Callum', 'Chidi',
  'Chloé', 'Daan', 'Deepa', 'Dmitri', 'Eilidh', 'Elif', 'Emeka', 'Fatima', 'Femke', 'Fiona', 'Gareth',
  'Grzegorz', 'Hana', 'Hassan', 'Ingrid', 'Isla', 'Jakub', 'Javier', 'Jiří', 'Joanna', 'Kwame', 'Lars',
  'Leilani', 'Li Na', 'Lucía', 'Małgorzata', 'Manoj', 'Marek', 'Mei', 'Mohammed', 'Ngozi', 'Niamh',
  'Olena', 'Oskar', 'Paula', 'Pradeep', 'Renée', 'Rory', 'Ruth', 'Samuel', 'Siobhán', 'Sofia', 'Tamsin',
  'Tomás', 'Trevor', 'Ulrike', 'Viktor', 'Wei', 'Yusuf', 'Zoë',
] as const;

// prettier-ignore
const familyNames = [
  'Abara', 'Ahlström', 'Baker', 'Banerjee', 'Bianchi', 'Boateng', 'Bruun', 'Campbell', 'Castillo',
  'Chen', 'Costa', 'Dąbrowski', 'de Vries', 'Dlamini', 'Dvořák', 'El-Sayed', 'Eriksen', 'Ferreira',
  'Fraser', 'García', 'Grant', 'Haugen', 'Hughes', 'Ibrahim', 'Jansen', 'Kaya', 'Kowalska', 'Kumar',
  'Larsen', 'Lim', 'MacLeod', 'Meyer', 'Mbeki', 'Müller', 'Nakamura', 'Nguyen', 'Nowak', "O'Brien",
  "O'Neill", 'Okafor', 'Olsen', 'Patel', 'Pereira', 'Petrov', 'Quinn', 'Rahman', 'Reid', 'Rossi',
  'Santos', 'Schmidt', 'Shevchenko', 'Singh', 'Smith-Jones', 'Stewart', 'Tan', 'Tüfekçi', 'van den Berg',
  'Walsh', 'Williams', 'Zhang',
] as const;

export function personName(random: Random): string {
  return `${random.pick(givenNames)} ${random.pick(familyNames)}`;
}
