import type { Random } from '../random.ts';

/** Identifiers with names, as the service's lists have them. */
type Named = readonly [id: string, name: string];

// prettier-ignore
export const fieldOffices: readonly Named[] = [
  ['410', 'Aberdeen – Altens yard'], ['411', 'Stavanger – Dusavik base'], ['412', 'Rotterdam – Europoort'],
  ['413', 'Houston – Pasadena shop'], ['414', 'Calgary – Foothills'], ['415', 'Perth – Henderson'],
  ['fo_gdansk', 'Gdańsk – Remontowa'], ['417', 'Singapore – Tuas'],
];

/** Data lists with the items that a metafield of the kind `items` may have. */
// prettier-ignore
export const dataLists: readonly (readonly [id: number, title: string, items: readonly (readonly [id: number, title: string])[]])[] = [
  [701, 'Accessories', [[901, 'Carrying case'], [902, 'Spare battery'], [903, 'Tag line'], [904, 'Certificate'], [905, 'Spare part set']]],
  [702, 'Gases', [[911, 'Oxygen'], [912, 'Hydrogen sulphide'], [913, 'Carbon monoxide'], [914, 'Flammable gas'], [915, 'Sulphur dioxide']]],
];

// prettier-ignore
export const jobTitles: readonly Named[] = [
  ['71', 'Site manager'], ['72', 'Supervisor'], ['73', 'HSE advisor'], ['74', 'Crane operator'], ['75', 'Rigger'],
  ['76', 'Scaffolder'], ['77', 'Industrial cleaner'], ['78', 'Welder'], ['79', 'Wind turbine technician'],
];

// prettier-ignore
export const roles: readonly Named[] = [['1', 'Administrator'], ['2', 'Supervisor'], ['3', 'Field user'], ['4', 'Contractor']];

// prettier-ignore
export const projects: readonly (readonly [id: number, name: string])[] = [
  [601, 'Quay wall renewal'], [602, 'Tank 14 inspection'], [603, 'Blade repair campaign'], [604, 'Flare tip replacement'],
  [605, 'Refinery turnaround'], [606, 'Jetty scaffolding'], [607, 'Substation lift'], [608, 'Boiler cleaning'],
  [609, 'Crane rail upgrade'], [610, 'Pipe rack painting'], [611, 'Monopile load-out'], [612, 'Waterworks overhaul'],
];

// prettier-ignore
export const lineOfBusinesses: readonly Named[] = [
  ['51', 'Lifting & rigging'], ['52', 'Scaffolding & access'], ['53', 'Industrial cleaning'],
  ['54', 'Wind farm maintenance'], ['lob-55', 'Tank inspection'],
];

// prettier-ignore
export const clients: readonly Named[] = [
  ['8801', 'Northline Energy'], ['8802', 'Harbour Terminals'], ['8803', 'Blue Ridge Chemicals'],
  ['8804', 'Vestmark Wind'], ['cl_8805', 'City Waterworks'],
];

interface Form {
  id: number;
  name: string;
  /** Texts of an observer; `{place}` is replaced. */
  notes: readonly string[];
}

// prettier-ignore
export const forms: readonly Form[] = [
  { id: 1201, name: 'Workplace inspection', notes: ['Handrail on the stairs at {place} is loose.', 'Emergency exit at {place} is blocked by pallets.', 'Lighting in {place} is out – two fittings.'] },
  { id: 1202, name: 'Near miss', notes: ['Spanner fell from the platform at {place}. No tether was used.', 'Forklift reversed out of {place} without a banksman.', 'Hose burst at {place}, pressure about 8 bar.'] },
  { id: 1203, name: 'Toolbox talk', notes: ['Crew asked for a refresher on permit hand-over at {place}.', 'Three people at {place} had not read the new lifting plan.'] },
  { id: 1204, name: 'Hazard observation', notes: ['Unmarked container of solvent found in {place}.', 'Guard missing on the belt drive in {place}.', 'Cable run across the gangway at {place}, trip hazard.'] },
  { id: 1205, name: 'Incident report', notes: ['First aid case at {place}: cut to the left hand, wrong gloves.', 'Spill of about 20 litres of hydraulic oil at {place}, contained.'] },
  { id: 1206, name: 'Vehicle pre-use check', notes: ['Reversing alarm not working on the pickup used at {place}.', 'Tyre wear below the limit on the trailer at {place}.'] },
  { id: 1207, name: 'Confined space permit audit', notes: ['Gas test record for {place} is missing the 14:00 reading.', 'Rescue plan at {place} names a person who is on leave.'] },
];

// prettier-ignore
export const places: readonly string[] = [
  'the north yard', 'workshop 2', 'the blasting hall', 'tank farm B', 'the loading bay', 'the paint store', 'turbine 14',
  'the canteen corridor', 'berth 3', 'the compressor room', 'the rigging loft', 'lay-down area C',
];

// prettier-ignore
export const replies: readonly string[] = [
  'On it, parts are ordered.', 'Area is barricaded until the repair.', 'Please add a photo of the finished work.',
  'Contractor comes on Thursday.', 'Moved to the maintenance plan.', 'Can you take this one? You are on site this week.',
];

// prettier-ignore
export const closings: readonly string[] = [
  'Done and checked.', 'Repaired, tested, area opened again.', 'Replaced. Old part is scrapped.',
  'Closed after a walk-round with the site manager.',
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

export const attachmentNames: readonly string[] = ['before.jpg', 'after.jpg', 'gas-test.pdf', 'podpis_ž.pdf'];

// prettier-ignore
const givenNames = [
  'Aisha', 'Alejandro', 'Amelia', 'Anders', 'Aroha', 'Beatriz', 'Bram', 'Chidi', 'Chloé', 'Daan', 'Deepa', 'Eilidh', 'Elif',
  'Fatima', 'Gareth', 'Grzegorz', 'Hana', 'Hassan', 'Ingrid', 'Jakub', 'Javier', 'Jiří', 'Kwame', 'Lars', 'Li Na', 'Lucía',
  'Małgorzata', 'Marek', 'Mei', 'Ngozi', 'Niamh', 'Olena', 'Paula', 'Renée', 'Rory', 'Ruth', 'Siobhán', 'Sofia', 'Tomás',
  'Ulrike', 'Viktor', 'Wei', 'Yusuf', 'Zoë',
] as const;

// prettier-ignore
const familyNames = [
  'Abara', 'Ahlström', 'Baker', 'Banerjee', 'Bianchi', 'Boateng', 'Campbell', 'Castillo', 'Chen', 'Dąbrowski', 'de Vries',
  'Dlamini', 'Dvořák', 'El-Sayed', 'Eriksen', 'Ferreira', 'Fraser', 'García', 'Grant', 'Haugen', 'Ibrahim', 'Jansen', 'Kaya',
  'Kowalska', 'Kumar', 'MacLeod', 'Mbeki', 'Müller', 'Nakamura', 'Nguyen', "O'Brien", 'Okafor', 'Olsen', 'Patel', 'Petrov',
  'Quinn', 'Reid', 'Rossi', 'Santos', 'Schmidt', 'Singh', 'Smith-Jones', 'Stewart', 'Tan', 'Tüfekçi', 'van den Berg', 'Zhang',
] as const;

export function personName(random: Random): { firstname: string; lastname: string } {
  return { firstname: random.pick(givenNames), lastname: random.pick(familyNames) };
}
