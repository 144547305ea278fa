import type { Random } from '../random.ts';

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
