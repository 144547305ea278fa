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
h3{font-size:1.05rem;margin:0}
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
  `--good:#137a3f;--busy:#1d5fbf;--warning:#9a5b00;--bad:#b3211b;--goodbg:#e2f4e8;--busybg:#e3edfb;--warningbg:#fdf0d5;--badbg:#fbe3e1;
--ins:#2f9e63;--upd:#4a86d8;--del:#c9605a`,
  `--good:#5fd08d;--busy:#7fb2ff;--warning:#f0b455;--bad:#ff8a82;--goodbg:#12301f;--busybg:#14284a;--warningbg:#3a2a08;--badbg:#431a18;
--ins:#3fae74;--upd:#5b93e0;--del:#d4706a`,
)}
body{overflow-wrap:anywhere}
main,footer,#lost{max-width:90rem;margin:0 auto;padding:0 clamp(.75rem,2.5vw,2.5rem)}
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
.streams{display:grid;gap:.9rem;grid-template-columns:repeat(auto-fit,minmax(min(13.5rem,100%),1fr));margin-top:1rem}
.head{display:flex;flex-wrap:wrap;gap:.6rem;justify-content:space-between;align-items:flex-start}
.badge{border-radius:99rem;padding:.1rem .6rem;font-size:.8rem;font-weight:600;white-space:nowrap}
.badge.good{background:var(--goodbg);color:var(--good)}.badge.busy{background:var(--busybg);color:var(--busy)}
.badge.warning{background:var(--warningbg);color:var(--warning)}.badge.bad{background:var(--badbg);color:var(--bad)}
.badge.off{background:var(--line);color:var(--dim)}
.big{font-size:1.7rem;font-weight:650;letter-spacing:-.01em;margin:.5rem 0 .1rem;line-height:1.15}
dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem .8rem;margin:.6rem 0 .8rem;font-size:.9rem}
dt{color:var(--dim)}dd{margin:0;text-align:right}
.succeeded{fill:var(--good)}.failed{fill:var(--bad)}.skipped{fill:var(--dim);opacity:.45}.running{fill:var(--busy)}
.ins{fill:var(--ins)}.upd{fill:var(--upd)}.del{fill:var(--del)}.rows{fill:var(--upd)}.axis{stroke:var(--line);stroke-width:1}
.track{fill:var(--line)}.bar{fill:var(--busy)}
.chart{max-height:14rem}.chart text{fill:var(--dim);font-size:15px}
.progress{border-radius:99rem;overflow:hidden;margin:.3rem 0}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem;color:var(--dim);margin-top:.5rem}
.key svg{width:.8rem;height:.8rem;display:inline-block;vertical-align:-.08rem;margin-right:.35rem}
table{overflow-wrap:normal}th a{overflow-wrap:anywhere}
.t-good{color:var(--good)}.t-warning{color:var(--warning)}.t-bad{color:var(--bad)}.t-busy{color:var(--busy)}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:0 .9rem}.two>*{min-width:0}
.plain{list-style:none;padding:0;margin:0}.plain li{padding:.5rem 0;border-top:1px solid var(--line)}.plain li:first-child{border-top:0;padding-top:0}
footer{padding-top:2rem;padding-bottom:2.5rem}
main.lost{filter:grayscale(1);opacity:.6}
#lost{background:var(--badbg);color:var(--bad);padding-top:.6rem;padding-bottom:.6rem;font-weight:600}
@media (max-width:42rem){th,td{padding-right:.35rem}table{font-size:.8rem}.card{padding:.85rem .9rem}td.num{white-space:normal}}
@media (min-width:120rem){body{font-size:19px}}
`;

/**
 * Charts take their colours from these variables. Adjacent colours differ in lightness, so that they differ without colour,
 * too.
 */
export const REPORT_STYLE = `${BASE}${palette(
  `--accent:#26588f;--bad:#a8281f;--warn:#e2a73d;--good:#3b7577;--none:#cfd5dc;--calm:#a9c1dc;--on-bad:#fff;--on-warn:#241a04;--on-good:#fff;
--age1:#ecc2b5;--age2:#d98e79;--age3:#bd5242;--age4:#86170f`,
  `--accent:#86b6f0;--bad:#cf6157;--warn:#e9bd63;--good:#4f9a9b;--none:#4a535e;--calm:#4d6f96;--on-bad:#1d0503;--on-warn:#241a04;--on-good:#04191a;
--age1:#6d4139;--age2:#99564a;--age3:#c86a5c;--age4:#f0988b`,
)}
header,main,footer{max-width:60rem;margin:0 auto;padding:0 clamp(.8rem,3vw,1.5rem)}
header{padding-top:clamp(1.5rem,4vw,3rem)}
h1{font-size:clamp(1.7rem,4.5vw,2.4rem);line-height:1.15;letter-spacing:-.02em;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.45rem;line-height:1.2;letter-spacing:-.01em;margin:0 0 .5rem}
h3{margin:2.2rem 0 .6rem;padding-top:1.2rem;border-top:1px solid var(--line)}
.note{color:var(--dim);font-size:.85rem;margin:.5rem 0 0;max-width:46rem}
.lead{font-size:1.1rem;margin:0 0 1.4rem;max-width:46rem}
.empty{color:var(--dim);max-width:46rem}
nav{font-size:.9rem;margin-top:.8rem;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
nav a{color:var(--dim);text-underline-offset:.2em}
section{background:var(--card);border:1px solid var(--line);border-radius:.7rem;padding:clamp(1rem,3vw,1.8rem);margin:1.2rem 0}
.key-figures{display:flex;flex-wrap:wrap;gap:1px;background:var(--line);padding:0;overflow:hidden;border:1px solid var(--line);border-radius:.7rem;margin:1.2rem 0}
.key-figures div{background:var(--card);padding:1.1rem 1.3rem;flex:1 1 10.5rem}
.key-figures dt{color:var(--dim);font-size:.9rem}
.key-figures dd{margin:0}
.key-figures .value{font-size:2.5rem;font-weight:650;letter-spacing:-.03em;line-height:1.2}
.key-figures .bad{color:var(--bad)}
.key-figures .change{font-size:.85rem;font-weight:600;line-height:1.35;color:var(--dim)}
.key-figures .worse{color:var(--bad)}.key-figures .better{color:var(--good)}
.key-figures .beside{color:var(--dim);font-size:.85rem;line-height:1.35}
header .bad{color:var(--bad)}
.first{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr));gap:1.2rem;overflow-wrap:anywhere}
.first section{margin:0;padding:1rem 1.3rem;min-width:0}.first h2{font-size:1rem}
.first ol,.first ul{margin:0;padding-left:1.2rem;font-size:.95rem}
figure{margin:0 0 1.2rem}
figcaption,caption{font-weight:600;font-size:.95rem;text-align:left;padding:0 0 .5rem}
svg{height:auto;overflow:visible;font-size:12px;font-family:inherit;color:var(--dim)}
svg.narrow{display:none}
.scroll{margin:0 0 1rem}.note+.scroll{margin-top:1.6rem}
th code{display:inline-block}
td.remark{color:var(--text);padding-bottom:.7rem}
.people th[scope=rowgroup]{font-weight:600;width:22%;font-size:1rem}
.people .when{white-space:nowrap;color:var(--dim)}
.people b,.people code{font-weight:600}
footer{padding-bottom:3rem}
@media (max-width:42rem){svg.wide{display:none}svg.narrow{display:block}th,td{padding-right:.55rem}table{font-size:.84rem}thead th{font-size:.8rem}
.key-figures div{padding:.9rem 1rem;flex-basis:8rem}
.people thead{display:none}.people tbody,.people tr,.people th,.people td{display:block;width:auto}
.people tbody{border-top:1px solid var(--line);padding:.5rem 0}.people th[scope=rowgroup],.people td{width:auto;border:0;padding:.1rem 0}.people .when{padding-top:.35rem}}
@page{margin:14mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt system-ui,sans-serif;color:#5a636e}}
@media print{
:root{--bg:#fff;--card:#fff;color-scheme:light}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{font-size:10.5pt}
header,main,footer{max-width:none;padding:0}
section{border:0;border-radius:0;padding:0;margin:0 0 1.4rem}
section+section{padding-top:1rem}
.key-figures{border:1px solid var(--line);padding:0!important;flex-wrap:nowrap}
.key-figures div{padding:.6rem .7rem;flex-basis:0}.key-figures .value{font-size:1.6rem}.key-figures dt,.key-figures .change,.key-figures .beside{font-size:8pt}
table{font-size:9pt}th,td{padding:.22rem .7rem .22rem 0}h3{margin-top:1rem;padding-top:.8rem}
h2,h3,caption,figcaption,.lead{break-after:avoid}
figure,tr,.key-figures,.first,.lead{break-inside:avoid}
.first{grid-template-columns:1fr 1fr}.first section{margin:0 0 1rem;padding:0;border:0}
thead,tr:has(+tr>.remark){break-after:avoid}thead+tbody>tr:nth-child(-n+3){break-before:avoid}
td.remark{font-size:8.5pt;padding-bottom:.35rem}.lead{font-size:11pt;margin-bottom:.8rem}
svg.narrow{display:none}svg.wide{display:block}.spare{display:table-cell}
nav,footer{display:none}
}
`;
