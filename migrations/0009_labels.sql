CREATE TABLE "safety"."labels" (
	"account_id" text NOT NULL,
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"label" text NOT NULL,
	"parent_id" text,
	CONSTRAINT "labels_account_id_kind_id_pk" PRIMARY KEY("account_id","kind","id"),
	CONSTRAINT "labels_kind_check" CHECK ("safety"."labels"."kind" in ('form', 'training', 'equipment_type', 'schedule', 'category', 'field_office', 'client', 'line_of_business', 'metafield', 'metafield_item'))
);
