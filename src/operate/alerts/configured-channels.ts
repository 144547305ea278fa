import type { NotificationConfig } from '../../config/notification-config.ts';
import type { Channel } from './channel.ts';
import { createMail } from './mail.ts';
import { createWebhook } from './webhook.ts';

/** Channels for alerts. Without any, no alerts are sent. */
export function configuredChannels({ webhookUrl, mail, alertEmailTo }: NotificationConfig): Channel[] {
  return [
    ...(webhookUrl === undefined ? [] : [createWebhook(webhookUrl)]),
    ...(mail === undefined || alertEmailTo.length === 0 ? [] : [createMail(mail, alertEmailTo)]),
  ];
}
