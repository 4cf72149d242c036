"""Texts that say how similar an embedding model finds what has nothing to do with each other.

Each entry is a passage in English and Chinese and a question in English and Chinese. The topics
range over operations and everyday life; a passage and a question of different topics are
unrelated. The forms have the shape of questions and runbooks of operations without any subject, so
that "how should this alert be handled" alone makes nothing similar.

A change of these texts changes the vectors: raise the number in `SharpenedEmbedder.name`.
"""

from __future__ import annotations

TOPICS = (
    (
        "Message broker queues grow: check consumers, memory alarm and mirrored nodes.",
        "消息中间件队列堆积：检查消费者、内存告警和镜像节点。",
        "messages pile up in the broker",
        "消息队列里的消息越堆越多",
    ),
    (
        "Document database replica set: primary election, oplog window, resync a member.",
        "文档数据库副本集：主节点选举、日志窗口、重新同步成员。",
        "the replica set keeps electing a new primary",
        "副本集反复选主",
    ),
    (
        "Deadlocks and lock waits of transactions: find the blocker, retry, order the updates.",
        "事务死锁与锁等待：找到阻塞者，重试，固定更新顺序。",
        "two transactions wait for each other",
        "两个事务互相等待锁",
    ),
    (
        "Cache evicts keys: memory limit, expiry, eviction policy, large keys.",
        "缓存淘汰键：内存上限、过期时间、淘汰策略、大键。",
        "the cache drops entries",
        "缓存数据被淘汰",
    ),
    (
        "Build agents are offline, the pipeline is stuck: restart the agent, clean the workspace.",
        "构建节点离线，流水线排队：重启代理，清理工作区。",
        "the build pipeline does not start",
        "流水线一直排队",
    ),
    (
        "Infrastructure as code: state file locked, drift, import resources, plan before apply.",
        "基础设施即代码：状态文件被锁、漂移、导入资源、先计划后执行。",
        "the infrastructure state is locked",
        "基础设施状态文件被锁住",
    ),
    (
        "Mail delivery: sender policy, spam lists, bounced messages, relay queue.",
        "邮件投递：发信策略、黑名单、退信、中继队列。",
        "our mail is classified as spam",
        "邮件被当成垃圾邮件",
    ),
    (
        "Remote access tunnel drops: gateway, keys, routes, split tunnelling.",
        "远程接入隧道断开：网关、密钥、路由、分流。",
        "the tunnel to the office is down",
        "到办公室的隧道断了",
    ),
    (
        "Firewall rules and security groups: blocked ports, order of rules, audit of changes.",
        "防火墙规则与安全组：端口被拦截、规则顺序、变更审计。",
        "a port is blocked by the firewall",
        "端口被防火墙拦截",
    ),
    (
        "Name resolution fails: resolver, zones, records, time to live.",
        "域名解析失败：解析器、区域、记录、生存时间。",
        "host names do not resolve",
        "主机名解析不了",
    ),
    (
        "Content delivery network: purge, origin shield, hit ratio, signed links.",
        "内容分发网络：刷新、回源、命中率、签名链接。",
        "the edge serves old content",
        "边缘节点返回旧内容",
    ),
    (
        "Storage network and shared file systems: lost paths, stale handles, quotas.",
        "存储网络与共享文件系统：路径丢失、句柄失效、配额。",
        "the network share hangs",
        "网络共享挂住了",
    ),
    (
        "Backups and restore: failed jobs, retention, point in time, restore drills.",
        "备份与恢复：任务失败、保留策略、按时间点恢复、恢复演练。",
        "the nightly backup failed",
        "夜间备份失败",
    ),
    (
        "Operating system crash: kernel panic, crash dump, boot loader, rescue mode.",
        "操作系统崩溃：内核恐慌、转储、引导程序、救援模式。",
        "the server does not boot",
        "服务器开不了机",
    ),
    (
        "Processor is saturated: hot threads, run queue, profiling, throttling.",
        "处理器打满：热点线程、运行队列、性能剖析、限额。",
        "the processor is fully busy",
        "处理器一直很忙",
    ),
    (
        "Metrics and alerting: targets down, scrape timeouts, remote storage, silences.",
        "指标与告警：采集目标掉线、采集超时、远端存储、静默。",
        "the monitoring target is down",
        "监控目标掉线",
    ),
    (
        "Stream processing: checkpoints fail, back pressure, state size, watermarks.",
        "流计算：检查点失败、反压、状态大小、水位线。",
        "the streaming job cannot checkpoint",
        "流任务检查点失败",
    ),
    (
        "Distributed file system and coordination: safe mode, quorum, leader election.",
        "分布式文件系统与协调服务：安全模式、法定人数、选主。",
        "the cluster lost its quorum",
        "集群失去法定人数",
    ),
    (
        "Accelerators and training: driver mismatch, device memory, collective timeouts.",
        "加速卡与训练：驱动不匹配、显存、通信超时。",
        "training fails on the accelerator",
        "训练任务在加速卡上失败",
    ),
    (
        "Text messages and push notifications: provider quota, templates, delivery receipts.",
        "短信与推送：通道配额、模板、送达回执。",
        "users receive no text message",
        "用户收不到短信",
    ),
    (
        "Remote login: host keys, locked accounts, jump host, privileges.",
        "远程登录：主机密钥、账号锁定、跳板机、提权。",
        "the account is locked",
        "账号被锁定",
    ),
    (
        "Data centre: cooling, power supply, fans, racks, humidity sensors.",
        "机房：制冷、电源、风扇、机柜、湿度传感器。",
        "the temperature in the machine room is high",
        "机房温度太高",
    ),
    (
        "Mobile phones: battery, screen, sim card, applications crash.",
        "手机：电池、屏幕、电话卡、应用闪退。",
        "my phone battery drains",
        "手机耗电太快",
    ),
    (
        "Holiday, expenses and travel: requests, approval, receipts, allowances.",
        "休假、报销与差旅：申请、审批、发票、补贴。",
        "how do I apply for leave",
        "怎么申请休假",
    ),
    (
        "Onboarding: accounts, badge, laptop, training, seating.",
        "入职：账号、工牌、电脑、培训、座位。",
        "a new colleague needs a laptop",
        "新同事需要一台电脑",
    ),
    (
        "Weather: rain, temperature and wind for the next days.",
        "天气：未来几天的降雨、气温和风。",
        "will it rain tomorrow",
        "明天会下雨吗",
    ),
    (
        "Films, music and books: recommendations, actors, authors.",
        "电影、音乐和图书：推荐、演员、作者。",
        "recommend a good film",
        "推荐一部电影",
    ),
    (
        "Languages and translation: grammar, vocabulary, practice.",
        "语言与翻译：语法、词汇、练习。",
        "translate this sentence",
        "翻译这个句子",
    ),
    (
        "Health: headache, doctor, medicine, sleep, exercise.",
        "健康：头痛、医生、药品、睡眠、锻炼。",
        "I have a headache",
        "我头痛",
    ),
    (
        "Passwords\nOpen the account page, choose reset, and follow the link in the mail.",
        "密码重置\n打开账户页面，点击重置，按邮件里的链接操作。",
        "how do I reset a forgotten password",
        "怎样重置密码",
    ),
    (
        "Library\nBooks are lent for four weeks to everyone who has a card.",
        "图书馆\n有借书证的读者可以借阅四周。",
        "where can I borrow a book",
        "在哪里可以借书",
    ),
    (
        "Installing packages\nRun the install command with the name of the package.",
        "安装软件包\n运行安装命令并填写包名。",
        "how to install a package",
        "如何安装软件包",
    ),
)

FORMS = (
    (
        "Alert\nName, severity and condition of the alert.",
        "告警名称\n告警名、告警级别和触发条件。",
        "how should this alert be handled",
        "这个告警应该如何处理",
    ),
    (
        "Symptoms\nWhat users and operators see when the problem occurs.",
        "现象\n问题发生时用户和运维人员看到的情况。",
        "what could be the cause of this problem",
        "这个问题可能是什么原因",
    ),
    (
        "How to tell\n1. Look at the logs. 2. Compare with the time before. 3. Find the cause.",
        "排查步骤\n1. 查看日志。2. 与之前的情况对比。3. 找出原因。",
        "it keeps failing, how do I troubleshoot it",
        "一直失败，怎么排查",
    ),
    (
        "Cause\nCharacteristics of the cause, and how it is dealt with.",
        "原因\n该原因的特征和处理方案。",
        "what should be done first when something breaks",
        "出现故障后首先应该做什么",
    ),
)
