export type Metafield =
  | { id: string; name: string; kind: 'number'; min: number; max: number; step: number }
  | { id: string; name: string; kind: 'text'; texts: readonly string[] }
  /** `list`: the data list of its items. */
  | { id: string; name: string; kind: 'items'; list: number };

export interface EquipmentType {
  id: string;
  name: string;
  serialPrefix: string;
  notes: readonly string[];
  metafields: readonly Metafield[];
  schedules: readonly { id: string; name: string; everyDays: number; noticeDays: number }[];
}

// prettier-ignore
export const equipmentTypes: readonly EquipmentType[] = [
  {
    id: '64b7f1c2a9e80d5533210021', name: 'Mobile crane', serialPrefix: 'LTM',
    notes: ['Outrigger pads are kept in the north yard.', 'Limiter re-calibrated after boom change.'],
    metafields: [
      { id: '3101', name: 'Capacity (t)', kind: 'number', min: 30, max: 500, step: 10 },
      { id: '3102', name: 'Registration', kind: 'text', texts: ['SK21 LFT', 'SK19 HVY', 'AB 43210', 'BV-RT-41'] },
      { id: '3103', name: 'Attachments', kind: 'items', list: 701 },
    ],
    schedules: [
      { id: '501', name: 'Weekly check', everyDays: 7, noticeDays: 2 },
      { id: '502', name: 'Thorough examination', everyDays: 365, noticeDays: 30 },
      { id: '503', name: 'Load limiter test', everyDays: 180, noticeDays: 14 },
    ],
  },
  {
    id: '64b7f1c2a9e80d5533210022', name: 'Safety harness', serialPrefix: 'HRN',
    notes: ['Kept dry, locker 12.', 'Lanyard replaced, old one cut up.'],
    metafields: [
      { id: '3201', name: 'Size', kind: 'text', texts: ['S', 'M', 'L', 'XL', 'XXL'] },
      { id: '3202', name: 'Year of make', kind: 'number', min: 2012, max: 2024, step: 1 },
      { id: '3203', name: 'Kit', kind: 'items', list: 701 },
    ],
    schedules: [{ id: '511', name: 'Six-monthly inspection', everyDays: 182, noticeDays: 21 }],
  },
  {
    id: '64b7f1c2a9e80d5533210023', name: 'Fire extinguisher', serialPrefix: 'FX',
    notes: ['Bracket is low – see floor plan.', 'Pressure at the lower end of the green field.'],
    metafields: [
      { id: '3301', name: 'Agent', kind: 'text', texts: ['CO₂', 'Foam', 'Powder ABC', 'Water'] },
      { id: '3302', name: 'Content (kg)', kind: 'number', min: 0, max: 50, step: 0.5 },
    ],
    schedules: [
      { id: '521', name: 'Monthly look', everyDays: 31, noticeDays: 7 },
      { id: '522', name: 'Service', everyDays: 365, noticeDays: 30 },
    ],
  },
  {
    id: '64b7f1c2a9e80d5533210024', name: 'Gas detector', serialPrefix: 'GD4',
    notes: ['Sensor O₂ replaced.', 'Goes with the confined space kit.'],
    metafields: [
      { id: '3401', name: 'Gases', kind: 'items', list: 702 },
      { id: '3402', name: 'Firmware', kind: 'text', texts: ['4.12', '4.12b', '5.0'] },
      { id: '3403', name: 'Pump flow (l/min)', kind: 'number', min: -0.25, max: 1.5, step: 0.125 },
      { id: '3404', name: 'Remarks', kind: 'text', texts: ['ok', 'battery weak', 'display scratched'] },
    ],
    schedules: [
      { id: '531', name: 'Bump test', everyDays: 1, noticeDays: 0 },
      { id: '532', name: 'Calibration', everyDays: 180, noticeDays: 14 },
    ],
  },
];
