import { DAY_MS } from '../../shared/time.ts';
import { Random } from '../random.ts';
import type { Resource, ResourceVersion } from '../records.ts';
import { oddTexts } from './vocabulary.ts';
import { STREAM, type World } from './world.ts';

const subjects = [
  ['Procedure', 'Lifting operations'],
  ['Procedure', 'Working at height'],
  ['Procedure', 'Permit to work'],
  ['Procedure', 'Confined space entry and rescue'],
  ['SDS', 'Acetone'],
  ['SDS', 'Hydraulic oil HLP 46'],
  ['SDS', 'Two-pack epoxy primer'],
  ['Method statement', 'Tank cleaning'],
  ['Method statement', 'Scaffold erection, quay side'],
  ['Risk assessment', 'Night work on the berth'],
  ['Form', 'Hot work permit'],
  ['Emergency plan', 'Site evacuation'],
] as const;

const tags = ['lifting', 'height', 'chemicals', 'permit', 'emergency', 'Größe', 'new!'] as const;
const changes = [
  'First issue',
  'Contact list updated',
  'Adapted to the new regulation',
  'Section 4 rewritten after the audit',
  'Typos',
] as const;

export function buildResource(index: number, world: World): Resource {
  const random = Random.of(world.seed, STREAM.resources, index);
  const [kind, subject] = random.pick(subjects);
  const created = Math.floor(world.beginning + random.next() * (world.now - world.beginning) * 0.95);
  const id = String(2_000 + index);
  const versions: ResourceVersion[] = [];
  const versionCount = random.int(1, 5);
  let at = created;
  for (let number = 1; number <= versionCount; number += 1) {
    const isLink = kind === 'SDS' || random.chance(0.15);
    versions.unshift(buildVersion({ resourceId: id, number, isLink, at, random, world }));
    at += Math.floor(((world.now - at) / (versionCount + 1)) * random.next());
  }
  const [newest, ...older] = versions;
  return {
    id,
    title: world.oddities && index % 17 === 3 ? random.pick(oddTexts) : `${kind}: ${subject} (${index + 1})`,
    created,
    sequence: index + 1,
    tags: random.sample(tags, random.int(0, 3)),
    shouldBeAvailableOffline: random.chance(0.3),
    versions: newest !== undefined && index % UNAPPROVED === 5 ? [toDraft(newest), ...older] : versions,
  };
}

/** One document in this many waits for the approval of its newest version. */
const UNAPPROVED = 16;

/** The specification does not show such a version: here it has no approval time. */
function toDraft(version: ResourceVersion): ResourceVersion {
  const draft = { ...version };
  delete draft.approvedOn;
  return draft;
}

export function buildVersion(about: {
  resourceId: string;
  number: number;
  isLink: boolean;
  at: number;
  random: Random;
  world: World;
}): ResourceVersion {
  const { resourceId, number, isLink, at, random, world } = about;
  return {
    creator_id: random.pick(world.accountIds),
    created: at,
    approvedOn: Math.max(at, Math.min(at + random.int(0, DAY_MS), world.now)),
    version: number % 4 === 0 ? `${number}.0 – final` : String(number),
    description: number === 1 ? changes[0] : random.pick(changes),
    ...(isLink
      ? { type: 'link', file: null, link: `https://documents.example/${resourceId}?v=${number}&lang=en` }
      : { type: 'file', file: `resources/${resourceId}/v${number}.pdf`, size: 20_000 + (at % 4_000_000) }),
  };
}
