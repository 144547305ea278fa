/** The style of the pages, for large screens, phones and paper, in light and dark. */

const palette = (light: string, dark: string): string => `
:root{color-scheme:light dark;${light}}
@media screen and (prefers-color-scheme:dark){:root{${dark}}}`;

/** The style that both pages share: text, tables, columns. */
const BASE = `${palette(
  '--bg:#f4f5f7;--card:#fff;--text:#16191d;--dim:#5a636e;--line:#e0e4e9',
  '--bg:#0f1216;--card:#171b21;--text:#e8ecf1;--dim:#9aa5b1;--line:#2a313a',
)}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;font-variant-numeric:tabular-nums}
p{margin:.3rem 0}
ul{margin:.5rem 0;padding-left:1.2rem}
a{color:inherit}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em;overflow-wrap:anywhere}
svg{display:block;width:100%}
.dim,footer{color:var(--dim)}
footer{font-size:.85rem}
.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;font-weight:400;padding:.38rem 1.1rem .38rem 0;border-top:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
th:last-child,td:last-child{padding-right:0}
thead th{color:var(--dim);font-size:.85rem;border-top:0;vertical-align:bottom;overflow-wrap:normal}
td.remark{padding-top:0;border-top:0;color:var(--dim);font-size:.86rem;overflow-wrap:anywhere}
.num{text-align:right}
td.num{white-space:nowrap}
@media (max-width:42rem){.spare{display:none}}
`;

export const STATUS_STYLE = `${BASE}${palette(
  `--good:#137a3f;--busy:#1d5fbf;--warning:#9a5b00;--bad:#b3211b;--goodbg:#e2f4e8;--busybg:#e3edfb;--warningbg:#fdf0d5;--badbg:#fbe3e1`,
  `--good:#5fd08d;--busy:#7fb2ff;--warning:#f0b455;--bad:#ff8a82;--goodbg:#12301f;--busybg:#14284a;--warningbg:#3a2a08;--badbg:#431a18`,
)}
body{overflow-wrap:anywhere}
main,footer{max-width:90rem;margin:0 auto;padding:0 clamp(.75rem,2.5vw,2.5rem)}
h2{font-size:1.1rem;margin:2.2rem 0 .7rem}
.old{color:var(--warning);font-weight:650}
.small{font-size:.86rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.8rem;padding:1rem 1.1rem}
.hero{margin-top:clamp(.75rem,2vw,1.6rem);border-radius:1rem;padding:clamp(1.2rem,3.5vw,3rem);border:1px solid transparent}
.hero h1{font-size:clamp(2rem,6vw,5.2rem);line-height:1.05;letter-spacing:-.02em;margin:0;text-wrap:balance}
.hero p,.hero ul{font-size:clamp(1rem,1.5vw,1.3rem)}
.hero.good{background:var(--goodbg);border-color:var(--good)}.hero.good h1{color:var(--good)}
.hero.busy{background:var(--busybg);border-color:var(--busy)}.hero.busy h1{color:var(--busy)}
.hero.warning{background:var(--warningbg);border-color:var(--warning)}.hero.warning h1{color:var(--warning)}
.hero.bad{background:var(--badbg);border-color:var(--bad)}.hero.bad h1{color:var(--bad)}
.badge{border-radius:99rem;padding:.1rem .6rem;font-size:.8rem;font-weight:600;white-space:nowrap}
.badge.good{background:var(--goodbg);color:var(--good)}.badge.busy{background:var(--busybg);color:var(--busy)}
.badge.warning{background:var(--warningbg);color:var(--warning)}.badge.bad{background:var(--badbg);color:var(--bad)}
.badge.off{background:var(--line);color:var(--dim)}
table{overflow-wrap:normal}th a{overflow-wrap:anywhere}
.t-good{color:var(--good)}.t-bad{color:var(--bad)}.t-busy{color:var(--busy)}.t-warning{color:var(--warning)}
footer{padding-top:2rem;padding-bottom:2.5rem}
@media (max-width:42rem){th,td{padding-right:.35rem}table{font-size:.8rem}.card{padding:.85rem .9rem}td.num,.badge{white-space:normal}}
@media (min-width:120rem){body{font-size:19px}}
@media print{:root{--bg:#fff;color-scheme:light}body{font-size:10pt}.hero{padding:1rem}.hero h1{font-size:20pt}.card{border:0;padding:0}tr{break-inside:avoid}tr:has(+tr>.remark),h2{break-after:avoid}}
`;

export const REPORT_STYLE = `${BASE}${palette(
  '--accent:#26588f;--bad:#a8281f;--warn:#b97a08;--good:#3b7577',
  '--accent:#86b6f0;--bad:#e2776d;--warn:#e9bd63;--good:#4fa9a9',
)}
header,main,footer{max-width:72rem;margin:0 auto;padding:0 clamp(.8rem,3vw,1.5rem)}
header{padding-top:clamp(1rem,3vw,2rem)}
h1{font-size:clamp(1.6rem,4vw,2.2rem);line-height:1.15;letter-spacing:-.02em;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.4rem;line-height:1.2;letter-spacing:-.01em;margin:0 0 .5rem}
.note{color:var(--dim);font-size:.85rem;margin:.5rem 0 0;max-width:46rem}
.lead{font-size:1.05rem;margin:0 0 1.2rem;max-width:46rem}
.empty{color:var(--dim)}
nav{font-size:.9rem;margin-top:.6rem;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
nav a{color:var(--dim);text-underline-offset:.2em}
section{background:var(--card);border:1px solid var(--line);border-radius:.7rem;padding:clamp(1rem,3vw,1.6rem);margin:1.2rem 0}
.key-figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:1px;background:var(--line);padding:0;overflow:hidden;border:1px solid var(--line);border-radius:.7rem;margin:1rem 0}
.key-figures div{background:var(--card);padding:.8rem 1.1rem}
.key-figures dt{color:var(--dim);font-size:.9rem}
.key-figures dd{margin:0}
.key-figures .value{font-size:2.2rem;font-weight:650;letter-spacing:-.03em;line-height:1.2}
.bad{color:var(--bad)}
.change{font-size:.85rem;font-weight:600;line-height:1.35;color:var(--dim)}
.worse{color:var(--bad)}.better{color:var(--good)}
.beside{color:var(--dim);font-size:.85rem;line-height:1.35}
.first{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr));gap:1rem;overflow-wrap:anywhere}
.first section{margin:0;padding:1rem 1.2rem;min-width:0}.first h2{font-size:1.05rem}
.first section:first-child{border-color:var(--bad)}.first section:first-child h2{color:var(--bad)}
.first ol{margin:0;padding:0;list-style:none;font-size:.9rem;line-height:1.4}.first li{padding:.5rem 0;border-top:1px solid var(--line)}.first li:first-child{border-top:0;padding-top:0}
.first li span{display:block}.first li span:last-child{color:var(--dim)}
figure{margin:1.8rem 0 1.2rem}
figcaption,caption{font-weight:600;font-size:.95rem;text-align:left;padding:0 0 .4rem}
.scroll{margin:0 0 .4rem}.scroll+.scroll,.note+.scroll,.lead+.scroll+.scroll{margin-top:1.6rem}
.key{display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;font-size:.85rem}.key i{display:inline-block;width:1rem;height:.22rem;margin-right:.4rem;vertical-align:.22rem}
.plot{position:relative}.plot span{position:absolute;top:-.1rem;left:0;font-size:.75rem;color:var(--dim)}.plot svg{height:9rem}.plot path{fill:none;vector-effect:non-scaling-stroke}
.ends{display:flex;justify-content:space-between;font-size:.75rem;color:var(--dim)}
td.remark{color:var(--text);padding-bottom:.6rem}
#areas table{table-layout:fixed}#areas th:first-child{width:22%}#areas th,#areas td{padding-right:.6rem}#areas th:last-child,#areas td:last-child{padding-right:0}#areas th{overflow-wrap:break-word}
footer{padding-bottom:3rem}
@media (max-width:42rem){th,td{padding-right:.5rem}table{font-size:.8rem}thead th{font-size:.75rem}.key-figures{grid-template-columns:1fr 1fr}.key-figures div{padding:.7rem .9rem}.key-figures .value{font-size:1.8rem}.key-figures div:last-child{grid-column:1/-1}main{display:flex;flex-direction:column}.first{order:-1;margin-top:1rem}}
@media print{
:root{--bg:#fff;--card:#fff;color-scheme:light}
body{font-size:10pt}
header,main,footer{max-width:none;padding:0}
section{border:0;padding:0}main>section:nth-of-type(n+2):not(:last-of-type){break-before:page}
.key-figures{grid-template-columns:repeat(5,1fr)}.key-figures div{padding:.5rem .6rem}.key-figures .value{font-size:1.5rem}.key-figures dt,.change,.beside{font-size:7.5pt}
table,thead th,td.remark,.note,.key{font-size:8.5pt}th,td{padding:.2rem .6rem .2rem 0}
h2,.lead,caption,figcaption,thead,tr:has(+tr>.remark),tbody tr:nth-child(-n+3){break-after:avoid}
figure,tr,.lead,.key-figures,.first{break-inside:avoid}
.first{grid-template-columns:1fr 1fr 1fr}.first section{padding:0}.first ol,.first .note{font-size:8pt}.lead{font-size:10pt}
.spare{display:table-cell}
nav,footer{display:none}
}
`;
