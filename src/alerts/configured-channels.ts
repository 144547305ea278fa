import type { TellingConfig } from '../config/telling-config.ts';
import type { Channel } from './channel.ts';
import { createMail } from './mail.ts';
import { createWebhook } from './webhook.ts';

/** By which alerts are told; none: nobody is. */
export function configuredChannels({ webhookUrl, mail, alertEmailTo }: TellingConfig): Channel[] {
  return [
    ...(webhookUrl === undefined ? [] : [createWebhook(webhookUrl)]),
    ...(mail === undefined || alertEmailTo.length === 0 ? [] : [createMail(mail, alertEmailTo)]),
  ];
}
